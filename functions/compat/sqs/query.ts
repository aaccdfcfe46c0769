import { type Fault, fault, queryCodeOf } from './faults.ts';
import type { Protocol } from './protocol.ts';

/** The names of the older protocol for the fields that are lists. Each has one element for each item. */
const lists: Record<string, string> = {
  AttributeName: 'AttributeNames',
  MessageAttributeName: 'MessageAttributeNames',
  MessageSystemAttributeName: 'MessageSystemAttributeNames',
  TagKey: 'TagKeys',
  SendMessageBatchRequestEntry: 'Entries',
  DeleteMessageBatchRequestEntry: 'Entries',
  ChangeMessageVisibilityBatchRequestEntry: 'Entries',
};
/** The same for objects whose keys are names: each key is an item with Name (a tag: Key) and Value. */
const maps: Record<string, string> = {
  Attribute: 'Attributes',
  MessageAttribute: 'MessageAttributes',
  MessageSystemAttribute: 'MessageSystemAttributes',
  Tag: 'Tags',
};
const numbers = [
  'DelaySeconds',
  'MaxNumberOfMessages',
  'MaxResults',
  'VisibilityTimeout',
  'WaitTimeSeconds',
];

/** SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue */
const MAX_DEPTH = 6;

/** Its values are texts and further trees. */
type Tree = Map<string, unknown>;

function treeOf(parameters: URLSearchParams): Tree {
  const tree: Tree = new Map();
  for (const [name, value] of parameters) {
    const steps = name.split('.');
    if (steps.length > MAX_DEPTH) {
      throw fault('SerializationException', 'The name of a parameter has too many parts.');
    }
    const last = steps.pop() as string;
    let place = tree;
    for (const step of steps) {
      const next = place.get(step);
      const inner: Tree = next instanceof Map ? next : new Map();
      place.set(step, inner);
      place = inner;
    }
    place.set(last, value);
  }
  return tree;
}

const numbered = (tree: Tree) => [...tree].toSorted(([a], [b]) => Number(a) - Number(b));

function objectOf(tree: unknown): unknown {
  if (!(tree instanceof Map)) return tree;
  const fields = [...tree].map(([name, value]): [string, unknown] => {
    const list = lists[name];
    const map = maps[name];
    if (value instanceof Map && list) {
      return [list, numbered(value).map(([, item]) => objectOf(item))];
    }
    if (value instanceof Map && map) {
      const items = numbered(value).flatMap(([, item]) => (item instanceof Map ? [item] : []));
      return [
        map,
        Object.fromEntries(
          items.map((item) => [item.get('Name') ?? item.get('Key'), objectOf(item.get('Value'))]),
        ),
      ];
    }
    const isNumber = numbers.includes(name) && /^-?\d{1,15}$/.test(String(value));
    return [name, isNumber ? Number(value) : objectOf(value)];
  });
  return Object.fromEntries(fields);
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\r': '&#13;',
};
const escaped = (text: string) =>
  text.replace(/[&<>\r]/g, (character) => entities[character] ?? '');
const element = (name: string, content: string) => `<${name}>${content}</${name}>`;

/** The elements of an answer's field. */
function fieldOf(operation: string, name: string, value: unknown): string {
  if (Array.isArray(value)) {
    const single: Record<string, string> = {
      Failed: 'BatchResultErrorEntry',
      Successful: `${operation}ResultEntry`,
    };
    const item = single[name] ?? name.replace(/s$/, '');
    return value.map((one) => element(item, contentOf(operation, one))).join('');
  }
  if (Object.values(maps).includes(name)) {
    return Object.entries(value as object)
      .map(([key, item]) =>
        element(
          name.replace(/s$/, ''),
          element('Name', escaped(key)) + element('Value', contentOf(operation, item)),
        ),
      )
      .join('');
  }
  return element(name, contentOf(operation, value));
}

function contentOf(operation: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return escaped(String(value));
  return Object.entries(value)
    .map(([name, field]) => fieldOf(operation, name, field))
    .join('');
}

const presigned = 'X-Amz-Algorithm=AWS4-HMAC-SHA256';

/** The older protocol, with parameters in a form or in a signed URL, and answers in XML. */
export const query: Protocol = {
  contentType: 'text/xml',
  matches({ method, url, headers }) {
    if (method === 'GET') return url.includes(presigned) && /[?&]Action=/.test(url);
    return (
      method === 'POST' &&
      (headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') ?? false) &&
      (headers.get('authorization')?.startsWith('AWS4-HMAC-SHA256 ') ?? false)
    );
  },
  read({ method, url }, text) {
    const { pathname, searchParams } = new URL(url);
    const parameters = method === 'GET' ? searchParams : new URLSearchParams(text);
    const input = objectOf(treeOf(parameters)) as Record<string, unknown>;
    // A request goes to the URL of its queue, and need not repeat it.
    const place = pathname === '/' ? {} : { QueueUrl: pathname };
    return { name: String(input.Action ?? ''), input: { ...place, ...input } };
  },
  answer(name, body, requestId) {
    const result = element(`${name}Result`, contentOf(name, body));
    const metadata = element('ResponseMetadata', element('RequestId', escaped(requestId)));
    return element(`${name}Response`, result + metadata);
  },
  refusal({ code, message, status }: Fault, requestId) {
    const error = element('Type', status < 500 ? 'Sender' : 'Receiver')
      .concat(element('Code', escaped(queryCodeOf(code))))
      .concat(element('Message', escaped(message)));
    return element(
      'ErrorResponse',
      element('Error', error) + element('RequestId', escaped(requestId)),
    );
  },
};
