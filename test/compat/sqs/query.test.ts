import { afterAll, beforeAll, expect, test } from 'vitest';
import { rowCounts, type Service, service } from '../../http/service.ts';

// The older protocol, as boto3 before 1.28.82 and kombu with it speak it.

let tock: Service;
beforeAll(async () => {
  tock = await service({ TOCK_COMPAT: 'sqs' });
});
afterAll(() => tock.database.drop());

const url = (queue: string) => `http://tock.example/000000000000/${queue}`;

/** Sends an operation as a form, with the key as the access key id. */
async function post(Action: string, parameters: Record<string, string>, path = '/') {
  const reply = await tock.send(`POST ${path}`, {
    key: null,
    raw: new URLSearchParams({ Action, Version: '2012-11-05', ...parameters }).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      authorization: `AWS4-HMAC-SHA256 Credential=${tock.key}/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0`,
    },
  });
  return { ...reply, text: reply.text.replace(/<RequestId>.+<\/RequestId>/, '<RequestId/>') };
}

const texts = (xml: string, name: string) =>
  [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, text]) => text as string);

const send = (queue: string, MessageBody: string, more: Record<string, string> = {}) =>
  post('SendMessage', { QueueUrl: url(queue), MessageBody, ...more });

const receive = (queue: string, more: Record<string, string> = {}) =>
  post('ReceiveMessage', { QueueUrl: url(queue), MaxNumberOfMessages: '10', ...more });

test('a message comes back in XML', async () => {
  const sent = await send('q', 'a < b &amp; "c"\r\n😀', {
    'MessageAttribute.1.Name': 'n',
    'MessageAttribute.1.Value.DataType': 'Binary',
    'MessageAttribute.1.Value.BinaryValue': 'AP8K',
  });
  const [id] = texts(sent.text, 'MessageId');
  const [digest] = texts(sent.text, 'MD5OfMessageAttributes');
  expect(sent.headers.get('content-type')).toMatch('text/xml');
  const received = await receive('q', {
    'AttributeName.1': 'ApproximateReceiveCount',
    'MessageAttributeName.1': 'All',
  });
  expect(received.text).toContain(`<ReceiveMessageResult><Message><MessageId>${id}</MessageId>`);
  expect(received.text).toContain('<Body>a &lt; b &amp;amp; "c"&#13;\n😀</Body>');
  expect(received.text).toContain(
    '<Attribute><Name>ApproximateReceiveCount</Name><Value>1</Value></Attribute>' +
      '<MessageAttribute><Name>n</Name><Value><DataType>Binary</DataType><BinaryValue>AP8K</BinaryValue></Value></MessageAttribute>' +
      `<MD5OfMessageAttributes>${digest}</MD5OfMessageAttributes></Message></ReceiveMessageResult>`,
  );
  const [ReceiptHandle = ''] = texts(received.text, 'ReceiptHandle');
  const deleted = await post('DeleteMessage', { QueueUrl: url('q'), ReceiptHandle });
  expect(deleted).toMatchObject({
    status: 200,
    text: '<DeleteMessageResponse><DeleteMessageResult></DeleteMessageResult><ResponseMetadata><RequestId/></ResponseMetadata></DeleteMessageResponse>',
  });
  expect((await receive('q')).text).toContain('<ReceiveMessageResult></ReceiveMessageResult>');
});

test('a batch has its entries in the order of their numbers', async () => {
  const entries = Array.from({ length: 10 }, (_, n): [string, string][] => [
    [`SendMessageBatchRequestEntry.${n + 1}.Id`, `id-${n}`],
    [`SendMessageBatchRequestEntry.${n + 1}.MessageBody`, n === 3 ? '\u0001' : `${n}`],
  ]);
  const parameters = Object.fromEntries(entries.toReversed().flat());
  const { text } = await post('SendMessageBatch', { QueueUrl: url('batch'), ...parameters });
  const [failed] = texts(text, 'BatchResultErrorEntry');
  expect(failed).toMatch('<Id>id-3</Id><Code>InvalidMessageContents</Code>');
  const sent = texts(text, 'SendMessageBatchResultEntry').map((entry) => texts(entry, 'Id')[0]);
  expect(sent).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9].map((n) => `id-${n}`));
  expect(texts((await receive('batch')).text, 'Body')).toHaveLength(9);
});

test('a request to the URL of a queue is for that queue', async () => {
  const path = new URL(url('by-path')).pathname;
  await post('SendMessage', { MessageBody: 'm' }, path);
  expect(texts((await post('ReceiveMessage', {}, path)).text, 'Body')).toEqual(['m']);
});

test('queues have attributes and a list', async () => {
  const created = await post('CreateQueue', {
    QueueName: 'made',
    'Attribute.1.Name': 'VisibilityTimeout',
    'Attribute.1.Value': '70',
  });
  expect(texts(created.text, 'QueueUrl')).toEqual(['http://localhost/000000000000/made']);
  const attributes = await post('GetQueueAttributes', {
    QueueUrl: url('made'),
    'AttributeName.1': 'VisibilityTimeout',
  });
  expect(attributes.text).toContain(
    '<GetQueueAttributesResult><Attribute><Name>VisibilityTimeout</Name><Value>70</Value></Attribute></GetQueueAttributesResult>',
  );
  const listed = await post('ListQueues', { QueueNamePrefix: 'mad' });
  expect(listed.text).toContain(
    '<ListQueuesResult><QueueUrl>http://localhost/000000000000/made</QueueUrl></ListQueuesResult>',
  );
});

test('a signed URL is a request too', async () => {
  await send('signed', 'm');
  const parameters = new URLSearchParams({
    Action: 'ReceiveMessage',
    QueueUrl: url('signed'),
    WaitTimeSeconds: '1',
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${tock.key}/20260101/us-east-1/sqs/aws4_request`,
  });
  const { text } = await tock.send(`GET /?${parameters}`, { key: null });
  expect(texts(text, 'Body')).toEqual(['m']);
  parameters.set('X-Amz-Credential', 'other');
  const refused = await tock.send(`GET /?${parameters}&x=%`, { key: null });
  expect(refused).toMatchObject({ status: 403 });
});

const lease = '00000000-0000-4000-8000-000000000000.1';

test.each([
  ['GetQueueUrl', 'AWS.SimpleQueueService.NonExistentQueue', { QueueName: 'nothing' }],
  ['SendMessage', 'MissingParameter', { MessageBody: 'm' }],
  [
    'SendMessage',
    'InvalidParameterValue',
    { QueueUrl: url('q'), MessageBody: 'm', DelaySeconds: 'x' },
  ],
  ['SendMessage', 'InvalidParameterValue', { QueueUrl: url('q'), 'MessageBody.1': 'm' }],
  ['SendMessage', 'SerializationException', { [Array(100_000).fill('Attribute').join('.')]: 'x' }],
  [
    'SendMessage',
    'MissingParameter',
    { QueueUrl: url('q'), MessageBody: 'm', 'MessageAttribute.1.Name': '__proto__' },
  ],
  [
    'SendMessageBatch',
    'AWS.SimpleQueueService.EmptyBatchRequest',
    { QueueUrl: url('q'), Entries: 'x' },
  ],
  [
    'SendMessageBatch',
    'AWS.SimpleQueueService.InvalidBatchEntryId',
    { QueueUrl: url('q'), 'SendMessageBatchRequestEntry.x': '1' },
  ],
  [
    'ChangeMessageVisibility',
    'AWS.SimpleQueueService.MessageNotInflight',
    { QueueUrl: url('q'), ReceiptHandle: lease, VisibilityTimeout: '0' },
  ],
  ['SetQueueAttributes', 'InvalidAttributeName', { QueueUrl: url('q'), 'Attribute.1.Value': 'x' }],
  ['Nothing<', 'AWS.SimpleQueueService.UnsupportedOperation', {}],
])('%s refuses what is wrong: %s', async (action, code, parameters) => {
  const before = await rowCounts(tock.owner);
  const reply = await post(action, parameters as Record<string, string>);
  expect(reply.status).toBe(400);
  expect(reply.text).toMatch(
    new RegExp(
      `^<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>[^<]+</Message></Error><RequestId/></ErrorResponse>$`,
    ),
  );
  expect(await rowCounts(tock.owner)).toEqual(before);
});
