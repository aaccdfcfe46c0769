#!/usr/bin/env node
// `npm create tock my-app` runs `tock init my-app`.
process.argv.splice(2, 0, 'init');
await import(new URL('dist/cli/main.js', import.meta.resolve('tock/package.json')).href);
