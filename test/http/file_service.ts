import { afterAll, beforeAll } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { type Reply, type Service, service } from './service.ts';

export type FileService = Service & {
  /** Sends a request `POST /v1/…`. */
  post(path: string, body?: unknown, key?: string): Promise<Reply>;
  /** Enqueues these tasks, or one empty task. Returns their ids. */
  add(queue: string, ...tasks: object[]): Promise<Reply['body']>;
  /** The body of the answer to a claim. */
  claim(queue: string, options?: object): Promise<Reply['body']>;
  /** A task as the API shows it. */
  task(id: string): Promise<Reply['body']>;
};

/** The service of a test file. It starts before the file's tests, and its database is dropped after them. */
export function fileService(bindings: Bindings = {}): FileService {
  const tock = {
    post: (path, body = {}, key) => tock.send(`POST /v1/${path}`, { body, ...(key && { key }) }),
    async add(queue, ...tasks) {
      const { body } = await tock.post(`queues/${queue}/tasks`, {
        tasks: tasks.length > 0 ? tasks : [{}],
      });
      return body.ids;
    },
    claim: async (queue, options) => (await tock.post(`queues/${queue}/claim`, options)).body,
    task: async (id) => (await tock.send(`GET /v1/tasks/${id}`)).body,
  } as FileService;
  beforeAll(async () => {
    Object.assign(tock, await service(bindings));
  });
  afterAll(() => tock.database.drop());
  return tock;
}
