import type { Send } from '../../http/service.ts';

export const QueueUrl = 'http://tock.example/000000000000/q';

const json = (body: unknown): Send => ({ body });
export const message = (more: object): Send => json({ QueueUrl, MessageBody: 'm', ...more });
const fifo = (more: object): Send =>
  json({ QueueUrl: `${QueueUrl}.fifo`, MessageBody: 'm', MessageGroupId: 'g', ...more });
const receive = (more: object): Send => json({ QueueUrl, ...more });
const batch = (Entries: unknown): Send => json({ QueueUrl, Entries });
const set = (Attributes: unknown): Send => json({ QueueUrl, Attributes });
const text = { DataType: 'String', StringValue: 'x' };
const attribute = (name: string, value: unknown): Send =>
  message({ MessageAttributes: { [name]: value } });
const many = (count: number, item: (n: number) => unknown) =>
  Array.from({ length: count }, (_, n) => item(n));
const entry = (n: number) => ({ Id: `${n}`, MessageBody: 'm' });
const deep = (levels: number) => `{"a": ${'['.repeat(levels)}${']'.repeat(levels)}}`;
const unknownLease = '00000000-0000-4000-8000-000000000000';

const parameter = 'InvalidParameterValue';
const missing = 'MissingParameter';
const value = 'InvalidAttributeValue';

/** Calls that are refused: the operation, what is wrong, the code of the error, and the request. */
export const cases: [operation: string, what: string, code: string, Send][] = [
  ['SendMessage', 'no JSON', 'SerializationException', { raw: '{' }],
  ['SendMessage', 'a list', 'SerializationException', json([])],
  ['SendMessage', 'null', 'SerializationException', { raw: 'null' }],
  [
    'SendMessage',
    'bytes that are not UTF-8',
    'SerializationException',
    { raw: new Uint8Array([0x7b, 0xff]) },
  ],
  ['SendMessage', 'very deep nesting', missing, { raw: deep(500_000) }],
  ['SendMessage', 'no queue', missing, json({ MessageBody: 'm' })],
  ['SendMessage', 'no body', missing, json({ QueueUrl })],
  ['SendMessage', 'an empty body', missing, message({ MessageBody: '' })],
  ['SendMessage', 'a body that is a number', parameter, message({ MessageBody: 1 })],
  ['SendMessage', 'NUL', 'InvalidMessageContents', message({ MessageBody: '\0' })],
  [
    'SendMessage',
    'half of a surrogate pair',
    'InvalidMessageContents',
    message({ MessageBody: '\ud800' }),
  ],
  ['SendMessage', 'U+FFFE', 'InvalidMessageContents', message({ MessageBody: '\ufffe' })],
  ['SendMessage', 'a body over 1 MiB', parameter, message({ MessageBody: 'x'.repeat(1_048_577) })],
  ['SendMessage', 'a negative delay', parameter, message({ DelaySeconds: -1 })],
  ['SendMessage', 'a long delay', parameter, message({ DelaySeconds: 901 })],
  ['SendMessage', 'a delay in text', parameter, message({ DelaySeconds: '1' })],
  [
    'SendMessage',
    'a deduplication id in a standard queue',
    parameter,
    message({ MessageDeduplicationId: 'x' }),
  ],
  ['SendMessage', 'a group with a space', parameter, message({ MessageGroupId: 'a b' })],
  ['SendMessage', 'a long group', parameter, message({ MessageGroupId: 'x'.repeat(129) })],
  ['SendMessage', 'no group in a FIFO queue', missing, fifo({ MessageGroupId: undefined })],
  ['SendMessage', 'a delay in a FIFO queue', parameter, fifo({ DelaySeconds: 1 })],
  ['SendMessage', "a group with Tock's prefix", parameter, fifo({ MessageGroupId: 'key:x' })],
  ['SendMessage', 'attributes that are a list', parameter, message({ MessageAttributes: [] })],
  [
    'SendMessage',
    'eleven attributes',
    parameter,
    message({
      MessageAttributes: Object.fromEntries(many(11, (n) => [`a${n}`, text]) as [string, object][]),
    }),
  ],
  ['SendMessage', 'an attribute that is null', parameter, attribute('a', null)],
  ['SendMessage', 'an attribute without a type', missing, attribute('a', { StringValue: 'x' })],
  [
    'SendMessage',
    'an attribute of an unknown type',
    parameter,
    attribute('a', { ...text, DataType: 'Text' }),
  ],
  ['SendMessage', 'an empty attribute', parameter, attribute('a', { ...text, StringValue: '' })],
  [
    'SendMessage',
    'an attribute without a value',
    parameter,
    attribute('a', { DataType: 'Binary' }),
  ],
  [
    'SendMessage',
    'an attribute that is no base64',
    parameter,
    attribute('a', { DataType: 'Binary', BinaryValue: '***' }),
  ],
  [
    'SendMessage',
    'an attribute with a control character',
    parameter,
    attribute('a', { ...text, StringValue: '\b' }),
  ],
  ...['aWs.x', 'AMAZON.x', '.x', 'x.', 'x!', '', 'x'.repeat(256)].map(
    (name): [string, string, string, Send] => [
      'SendMessage',
      `an attribute ${name.slice(0, 10)}`,
      parameter,
      attribute(name, text),
    ],
  ),
  ...['', '*', 'a%2Fb', 'q?x=1', 'q#x', '..', 'é', 'q\0', 'x'.repeat(101)].map(
    (name): [string, string, string, Send] => [
      'SendMessage',
      `a queue ${name.slice(0, 10)}`,
      'InvalidAddress',
      message({ QueueUrl: `${QueueUrl}/${name}` }),
    ],
  ),
  ['SendMessageBatch', 'no entries', 'EmptyBatchRequest', batch([])],
  ['SendMessageBatch', 'entries that are no list', 'EmptyBatchRequest', batch({ length: 1 })],
  ['SendMessageBatch', 'too many entries', 'TooManyEntriesInBatchRequest', batch(many(11, entry))],
  [
    'SendMessageBatch',
    'very many entries',
    'TooManyEntriesInBatchRequest',
    batch(many(300_000, () => 1)),
  ],
  ['SendMessageBatch', 'an entry that is null', 'InvalidBatchEntryId', batch([entry(1), null])],
  [
    'SendMessageBatch',
    'an id with a colon',
    'InvalidBatchEntryId',
    batch([{ ...entry(1), Id: 'a:b' }]),
  ],
  [
    'SendMessageBatch',
    'a long id',
    'InvalidBatchEntryId',
    batch([{ ...entry(1), Id: 'x'.repeat(81) }]),
  ],
  ['SendMessageBatch', 'an id twice', 'BatchEntryIdsNotDistinct', batch([entry(1), entry(1)])],
  [
    'SendMessageBatch',
    'over 1 MiB together',
    'BatchRequestTooLong',
    batch(many(2, (n) => ({ Id: `${n}`, MessageBody: 'x'.repeat(600_000) }))),
  ],
  ['ReceiveMessage', 'no message', parameter, receive({ MaxNumberOfMessages: 0 })],
  ['ReceiveMessage', 'eleven messages', parameter, receive({ MaxNumberOfMessages: 11 })],
  ['ReceiveMessage', 'a long wait', parameter, receive({ WaitTimeSeconds: 21 })],
  ['ReceiveMessage', 'a negative timeout', parameter, receive({ VisibilityTimeout: -1 })],
  ['ReceiveMessage', 'a timeout over 12 hours', parameter, receive({ VisibilityTimeout: 43_201 })],
  [
    'ReceiveMessage',
    'names that are numbers',
    parameter,
    receive({ AttributeNames: many(300_000, () => 1) }),
  ],
  ['DeleteMessage', 'no handle', missing, receive({})],
  ...[
    '',
    'x',
    '0'.repeat(100_000),
    `${unknownLease}.0`,
    `${unknownLease}.1/../2`,
    `../${unknownLease}.1`,
  ].map((ReceiptHandle): [string, string, string, Send] => [
    'DeleteMessage',
    `a handle ${ReceiptHandle.slice(0, 45)}`,
    'ReceiptHandleIsInvalid',
    receive({ ReceiptHandle }),
  ]),
  [
    'DeleteMessage',
    'a handle of a task that cannot be',
    parameter,
    receive({ ReceiptHandle: `${unknownLease}.9999999999999999999` }),
  ],
  ['DeleteMessageBatch', 'no entries', 'EmptyBatchRequest', batch([])],
  [
    'ChangeMessageVisibility',
    'a handle that never was',
    'MessageNotInflight',
    receive({ ReceiptHandle: `${unknownLease}.1`, VisibilityTimeout: 0 }),
  ],
  [
    'ChangeMessageVisibility',
    'no timeout',
    missing,
    receive({ ReceiptHandle: `${unknownLease}.1` }),
  ],
  [
    'ChangeMessageVisibility',
    'a timeout over 12 hours',
    parameter,
    receive({ ReceiptHandle: `${unknownLease}.1`, VisibilityTimeout: 43_201 }),
  ],
  ['CreateQueue', 'no name', missing, json({})],
  ...['', '-a', 'a b', 'a.b', 'a/b', 'a.fifo.fifo', 'x'.repeat(81), 'other.fifo'].map(
    (QueueName): [string, string, string, Send] => [
      'CreateQueue',
      `the name ${QueueName.slice(0, 10)}`,
      parameter,
      json({ QueueName }),
    ],
  ),
  [
    'CreateQueue',
    'a FIFO queue without its suffix',
    parameter,
    json({ QueueName: 'new', Attributes: { FifoQueue: 'true' } }),
  ],
  [
    'CreateQueue',
    'another timeout',
    'QueueNameExists',
    json({ QueueName: 'q', Attributes: { VisibilityTimeout: '31' } }),
  ],
  ['GetQueueUrl', 'a queue that is not there', 'QueueDoesNotExist', json({ QueueName: 'nothing' })],
  [
    'GetQueueAttributes',
    'an unknown attribute',
    'InvalidAttributeName',
    receive({ AttributeNames: ['constructor'] }),
  ],
  [
    'SetQueueAttributes',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing`, Attributes: {} }),
  ],
  ['SetQueueAttributes', 'an unknown attribute', 'InvalidAttributeName', set({ toString: 'x' })],
  [
    'SetQueueAttributes',
    'an attribute that is set by no one',
    'InvalidAttributeName',
    set({ QueueArn: 'x' }),
  ],
  ['SetQueueAttributes', 'a number', value, set({ VisibilityTimeout: 30 })],
  [
    'SetQueueAttributes',
    'very many attributes',
    'InvalidAttributeName',
    set(Object.fromEntries(many(300_000, (n) => [n, n]) as [string, number][])),
  ],
  ['SetQueueAttributes', 'a negative timeout', value, set({ VisibilityTimeout: '-1' })],
  ['SetQueueAttributes', 'a timeout of 0', value, set({ VisibilityTimeout: '0' })],
  ['SetQueueAttributes', 'a timeout that is no number', value, set({ VisibilityTimeout: '1e3' })],
  ['SetQueueAttributes', 'a short retention', value, set({ MessageRetentionPeriod: '59' })],
  ['SetQueueAttributes', 'a delay of the queue', value, set({ DelaySeconds: '1' })],
  ['SetQueueAttributes', 'a policy', value, set({ Policy: '{}' })],
  [
    'SetQueueAttributes',
    'one good and one bad attribute',
    value,
    set({ VisibilityTimeout: '31', MaximumMessageSize: '1' }),
  ],
  ...[
    '{',
    'null',
    '{}',
    '{"deadLetterTargetArn": "a", "maxReceiveCount": "x"}',
    '{"deadLetterTargetArn": "a", "maxReceiveCount": 1001}',
  ].map((RedrivePolicy): [string, string, string, Send] => [
    'SetQueueAttributes',
    `the redrive policy ${RedrivePolicy}`,
    value,
    set({ RedrivePolicy }),
  ]),
  ['ListQueues', 'a page of 0', parameter, json({ MaxResults: 0 })],
  [
    'DeleteQueue',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing` }),
  ],
  [
    'PurgeQueue',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing` }),
  ],
  [
    'ListQueueTags',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing` }),
  ],
  ['StartMessageMoveTask', 'what Tock has not', 'UnsupportedOperation', json({})],
  ['constructor', 'a name of JavaScript', 'UnsupportedOperation', json({})],
];
