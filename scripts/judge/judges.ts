import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { checkout } from '../stack/paths.ts';

export type Judge = {
  /** What the folder holds. */
  folder: string;
  /** The adapter, as in TOCK_COMPAT. */
  adapter: string;
  program: string;
  args: string[];
  /** The tests, if none are named. */
  tests: string[];
  /** The port that its tests expect. Default: any free one. */
  port?: number;
  /** A queue that its tests expect. */
  queue?: string;
  /** The variables with which its client finds Tock. */
  env(url: URL, key: string): Record<string, string>;
  /** Adds the key to the headers of a request, where the tests have fixed credentials. */
  addKey?(headers: IncomingHttpHeaders, key: string): void;
};

const addSessionToken = (headers: IncomingHttpHeaders, key: string) => {
  headers['x-amz-security-token'] = key;
};

export const judges: Record<string, Judge> = {
  qstash: {
    folder: 'a checkout of github.com/upstash/qstash-js with its packages and bun installed',
    adapter: 'qstash',
    program: 'bun',
    args: ['test', '--timeout', '40000'],
    // Those that need a server, and the receiver.
    tests: [
      'src/client/client.test.ts',
      'src/client/schedules.test.ts',
      'src/client/messages.test.ts',
      'src/client/dlq.test.ts',
      'src/client/logs.test.ts',
      'src/client/queue.test.ts',
      'src/client/url-groups.test.ts',
      'src/client/flow-control.test.ts',
      'src/receiver.test.ts',
    ],
    env: ({ origin }, key) => ({ QSTASH_URL: origin, QSTASH_TOKEN: key }),
  },
  'sqs-consumer': {
    folder: 'a checkout of github.com/bbc/sqs-consumer with its packages installed, and built',
    adapter: 'sqs',
    program: 'cucumber-js',
    args: ['--config', 'test/config/cucumber.mjs'],
    tests: [],
    port: 9324,
    queue: 'sqs-consumer-data',
    env: () => ({}),
    addKey: addSessionToken,
  },
  kombu: {
    folder:
      'a checkout of github.com/celery/kombu; python3 has pytest, pycurl, and boto3 of 2025 or later',
    adapter: 'sqs',
    program: 'python3',
    args: [
      '-m',
      'pytest',
      '-p',
      'no:cacheprovider',
      '-o',
      'addopts=',
      '-o',
      'python_classes=test_*',
      '-E',
      'sqs',
      '-v',
    ],
    tests: ['t/integration/test_sqs.py'],
    env: ({ hostname, port }) => ({ SQS_HOST: hostname, SQS_PORT: port }),
    addKey: addSessionToken,
  },
  celery: {
    folder: 'the Python packages celery, boto3 and pycurl; or any folder, if python3 has them',
    adapter: 'sqs',
    program: 'python3',
    args: [join(checkout, 'scripts/judge/celery_kills.py')],
    // Tasks and kills.
    tests: ['10000', '10'],
    env: ({ host }, key) => ({ TOCK_KEY: key, TOCK_HOST: host }),
  },
  cloudflare: {
    folder: 'a checkout of github.com/cloudflare/cloudflare-typescript with its packages installed',
    adapter: 'cloudflare',
    program: 'jest',
    args: [],
    tests: ['tests/api-resources/queues/messages.test.ts'],
    env: ({ origin }) => ({ TEST_API_BASE_URL: origin }),
    addKey(headers, key) {
      headers.authorization = `Bearer ${key}`;
    },
  },
};
