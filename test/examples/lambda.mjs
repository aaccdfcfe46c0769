// A stand-in for Lambda's runtime: one process imports the handler's module and runs one invocation after another.
// Usage: node lambda.mjs <file of the handler>, with invocations as messages
const { handler } = await import(process.argv[2]);

process.on('message', async ({ id, seconds }) => {
  const end = performance.now() + seconds * 1000;
  const context = { awsRequestId: id, getRemainingTimeInMillis: () => end - performance.now() };
  try {
    const result = await handler({ 'detail-type': 'Scheduled Event' }, context);
    process.send({ id, result, left: context.getRemainingTimeInMillis() });
  } catch (error) {
    process.send({ id, error: error.message });
  }
});
process.send({ ready: true });
