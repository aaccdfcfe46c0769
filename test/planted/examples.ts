import type { Bug } from './bugs.ts';

const actions = 'examples/github-actions.test.ts';
const lambda = 'examples/aws-lambda.test.ts';
const shell = 'examples/shell.test.ts';
const worker = 'examples/worker-consumer.test.ts';
const node = 'examples/node-server.test.ts';
const sqs = 'examples/from-sqs.test.ts';
const transactional = 'examples/transactional.test.ts';

/** What the examples would teach wrongly. */
export const inExamples: Bug[] = [
  {
    name: 'a workflow is green when a task has died',
    file: 'examples/github-actions/worker.mjs',
    find: 'if (task && died(error, task)) process.exitCode = 1;',
    replace: '',
    caught: [actions, 'a workflow is red when a task has died'],
  },
  {
    name: 'a workflow is red when a task is to be tried again',
    file: 'examples/github-actions/worker.mjs',
    find: 'if (task && died(error, task))',
    replace: 'if (task)',
    caught: [actions, 'a workflow works the queue off, and is green'],
  },
  {
    name: "a workflow's shell keeps the interrupt to itself",
    file: 'examples/github-actions/tock-worker.yml',
    find: 'run: exec node worker.mjs',
    replace: 'run: node worker.mjs; exit $?',
    caught: [actions, 'a workflow that is cancelled gives back what it has'],
  },
  {
    name: 'a cancelled workflow waits for longer than it is given',
    file: 'examples/github-actions/worker.mjs',
    find: 'stop_seconds: 2,',
    replace: 'stop_seconds: 20,',
    caught: [actions, 'a workflow that is cancelled gives back what it has'],
  },
  {
    name: 'a function works until its time is up',
    file: 'examples/aws-lambda/handler.mjs',
    find: '/ 1000 - reserve_seconds',
    replace: '/ 1000',
    caught: [lambda, 'a function that runs out of time gives back what it has'],
  },
  {
    name: 'a function goes by a time of its own',
    file: 'examples/aws-lambda/handler.mjs',
    find: '    for_seconds,\n',
    replace: '    for_seconds: 60,\n',
    caught: [lambda, 'a function that runs out of time gives back what it has'],
  },
  {
    name: 'a shell worker reads its payload as a word',
    file: 'examples/shell/worker.sh',
    find: `jq -c '.tasks[0].payload' "$dir/answer" >"$dir/payload"`,
    replace: `echo $(jq -c '.tasks[0].payload' "$dir/answer") >"$dir/payload"`,
    caught: [shell, 'a shell worker gives its command whatever a payload has in it'],
  },
  {
    name: "a shell worker's command can read its key",
    file: 'examples/shell/worker.sh',
    find: 'export -n TOCK_KEY',
    replace: 'export TOCK_KEY',
    caught: [shell, 'a shell worker gives its command whatever a payload has in it'],
  },
  {
    name: 'a shell worker claims with another request id each time',
    file: 'examples/shell/worker.sh',
    find: '000 | 429 | 5??) ;; *) break ;;',
    replace:
      '000 | 429 | 5??) [[ $1 == *claim ]] && body ". + {request_id: \\"$RANDOM\\"}" ;; *) break ;;',
    caught: [shell, 'an answer that is lost is asked for again'],
  },
  {
    name: 'a shell worker has no heartbeat',
    file: 'examples/shell/worker.sh',
    find: 'heartbeat "$job" >/dev/null &',
    replace: 'sleep 100 &',
    caught: [shell, 'a command that takes longer than its lease keeps it'],
  },
  {
    name: 'a shell worker ends the command and not what it started',
    file: 'examples/shell/worker.sh',
    find: /kill -(TERM|KILL) -- "-\$1"/,
    replace: 'kill -{inside} -- "$1"',
    caught: [shell, 'a command is ended with what it started'],
  },
  {
    name: 'a shell worker that is told to stop fails its task',
    file: 'examples/shell/worker.sh',
    find: /elif \[\[ -e \$dir\/stopped.*/,
    replace: 'elif false; then',
    caught: [shell, 'a worker that is told to stop gives back what does not end in time'],
  },
  {
    name: 'a shell worker retries what can never do',
    file: 'examples/shell/worker.sh',
    find: '[[ $code == 65 ]]',
    replace: 'false',
    caught: [shell, 'a command that fails is tried again, one that ends with 65 never'],
  },
  {
    name: 'the order is committed before its task',
    file: 'examples/transactional/enqueue.sql',
    find: 'returning id as order_id\n\\gset\n',
    replace: 'returning id as order_id\n\\gset\ncommit;\n',
    caught: [transactional, 'SQL: a task that is refused takes its order with it'],
  },
  {
    name: 'the task is enqueued beside the transaction',
    file: 'examples/transactional/drizzle.ts',
    find: 'asking(tx)',
    replace: 'asking(db)',
    caught: [transactional, 'an order and its task are committed together, or rolled back'],
  },
  {
    name: 'the application may not enqueue',
    file: 'examples/transactional/setup.sql',
    find: 'grant tock_producer to shop;',
    replace: '',
    caught: [transactional, 'SQL: an order and its task are committed together'],
  },
  {
    name: 'an invoice is written for whatever comes',
    file: 'examples/worker-consumer/index.ts',
    find: '  schema: Order,\n',
    replace: '',
    caught: [worker, 'a Worker writes an invoice for each order, once'],
  },
  {
    name: 'the Worker may not write invoices',
    file: 'examples/worker-consumer/setup.sql',
    find: 'grant insert on shop.invoices to tock_edge;',
    replace: '',
    caught: [worker, 'a Worker writes an invoice for each order, once'],
  },
  {
    name: 'a Node server has no timer for what falls due',
    file: 'examples/node-server/server.mjs',
    find: 'env.ALARM = namespace;',
    replace: 'void namespace;',
    caught: [node, 'what falls due is promoted by its timer, with nobody claiming'],
  },
  {
    name: 'a Node server that is to end waits for who says nothing',
    file: 'examples/node-server/server.mjs',
    find: '  server.closeAllConnections();\n',
    replace: '',
    caught: [
      node,
      'on SIGTERM it answers what is under way and ends with 0, whoever keeps a connection',
    ],
  },
  {
    name: 'a Node server that is to end keeps the connections of those who ask on',
    file: 'examples/node-server/server.mjs',
    find: '!server.listening || !incoming.complete',
    replace: '!incoming.complete',
    caught: [
      node,
      'on SIGTERM it answers what is under way and ends with 0, whoever keeps a connection',
    ],
  },
  {
    name: 'a Node server that is to end hangs up on who waits',
    file: 'examples/node-server/server.mjs',
    find: '  while (under_way.size > 0) await Promise.all(under_way);\n',
    replace: '',
    caught: [
      node,
      'on SIGTERM it answers what is under way and ends with 0, whoever keeps a connection',
    ],
  },
  {
    name: 'a message of SQS that comes twice is two tasks',
    file: 'examples/from-sqs/from-sqs.mjs',
    find: /`sqs .*?`/,
    replace: 'crypto.randomUUID()',
    caught: [sqs, 'each message becomes one task'],
  },
  {
    name: 'a message of SQS is deleted whatever became of it',
    file: 'examples/from-sqs/from-sqs.mjs',
    find: '    return false;\n',
    replace: '    return true;\n',
    caught: [sqs, 'a group of a FIFO queue is a gate'],
  },
  {
    name: 'a group of SQS runs side by side',
    file: 'examples/from-sqs/from-sqs.mjs',
    find: '...(fifo && { gate: MessageGroupId })',
    replace: '...(fifo && {})',
    caught: [sqs, 'a group of a FIFO queue is a gate'],
  },
];
