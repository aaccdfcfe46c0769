export default {
  input: 'openapi.json',
  // The program runs with Node as it is, which wants the extension of a file that it imports.
  output: { path: 'hey', module: { extension: '.ts' } },
  plugins: ['@hey-api/client-fetch'],
};
