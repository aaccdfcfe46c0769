import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { done, type Handler, json, unlessMissing } from './call.ts';
import type { FlowControl } from './message.ts';
import { PUBLISHED } from './names.ts';

/** The largest limit of a concurrency key stands for none. */
const NO_LIMIT = 1000;
const list = `/v1/queues/${PUBLISHED}/concurrency-keys`;
const pathOf = (key: string) => `${list}/${encodeURIComponent(key)}`;

/** Sets what the newest message with a key says, unless it is set: a change locks the key, and is audited. */
export async function setFlow(
  tock: CallTock,
  { key, parallelism, rate, period }: FlowControl,
): Promise<void> {
  const settings = {
    concurrency_limit: parallelism ?? NO_LIMIT,
    concurrency_rate_limit: rate ?? null,
    // Without a rate, its period is that of the queue.
    concurrency_rate_seconds: rate === undefined ? undefined : period,
  };
  const present = unlessMissing(await tock('GET', pathOf(key)));
  const isSet = Object.entries(settings).every(
    ([name, value]) => value === undefined || present?.[name] === value,
  );
  if (!isSet) expectOk(await tock('PATCH', pathOf(key), settings));
}

type Key = {
  concurrency_key: string;
  concurrency_limit: number;
  concurrency_rate_limit: number | null;
  concurrency_rate_seconds: number;
  paused: boolean;
  holders: string[];
  waiting: number;
};

const toQstash = (key: Key) => ({
  flowControlKey: key.concurrency_key,
  waitListSize: key.waiting,
  parallelismMax: key.concurrency_limit === NO_LIMIT ? 0 : key.concurrency_limit,
  parallelismCount: key.holders.length,
  rateMax: key.concurrency_rate_limit ?? 0,
  // Tock keeps a bucket instead of a count.
  rateCount: 0,
  ratePeriod: key.concurrency_rate_limit === null ? 0 : key.concurrency_rate_seconds,
  ratePeriodStart: 0,
  isPaused: key.paused,
  isPinnedParallelism: false,
  isPinnedRate: false,
});

export const getFlow: Handler = async ({ tock }, key = '') =>
  json(toQstash(expectOk(await tock('GET', pathOf(key)))));

export const listFlows: Handler = async ({ tock }) => {
  const { concurrency_keys } = expectOk(await tock('GET', list));
  return json(concurrency_keys.map(toQstash));
};

const setPaused =
  (paused: boolean): Handler =>
  async ({ tock }, key = '') => {
    expectOk(await tock('PATCH', pathOf(key), { paused }));
    return done();
  };
export const pauseFlow = setPaused(true);
export const resumeFlow = setPaused(false);

/** QStash's limit for the whole account is the limit of the queue of published messages. */
export const getGlobalParallelism: Handler = async ({ tock }) => {
  const limits = unlessMissing(await tock('GET', `/v1/queues/${PUBLISHED}/limits`));
  const { max_running, running } = limits ?? {};
  return json({ parallelismMax: max_running ?? 0, parallelismCount: running ?? 0 });
};
