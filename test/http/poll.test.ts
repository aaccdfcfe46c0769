import { expect, test } from 'vitest';
import { poll } from '../../functions/poll.ts';

const stateOf = (body: string) => body;
const nobody = new AbortController().signal;

/** Answers by the list, its last again and again, and counts. */
function answers(...states: string[]) {
  const asked: number[] = [];
  const once = async () => {
    asked.push(performance.now());
    return { body: states[asked.length - 1] ?? states.at(-1) ?? '' };
  };
  return { once, asked };
}

test('a claim that passed over much is repeated at once, until it finds something', async () => {
  const { once, asked } = answers(...Array(60).fill('passing'), 'found');
  expect(await poll(once, stateOf, 30, nobody)).toEqual({ body: 'found' });
  // With pauses it would have been a minute.
  expect(asked).toHaveLength(61);
});

test('it is not repeated by a call that does not wait', async () => {
  const { once, asked } = answers('passing');
  expect(await poll(once, stateOf, 0, nobody)).toEqual({ body: 'passing' });
  expect(asked).toHaveLength(1);
});

test('it is repeated a hundred times without a pause, and then as any other', async () => {
  const { once, asked } = answers('passing');
  expect(await poll(once, stateOf, 1, nobody)).toEqual({ body: 'passing' });
  expect(asked.length).toBeGreaterThan(101);
  // Pauses of 50, 100, 200, 400 and what is left of the second.
  expect(asked.length).toBeLessThanOrEqual(107);
});

test('it is not repeated for a client that has gone', async () => {
  const client = new AbortController();
  const { once, asked } = answers('passing');
  const leave = async () => {
    if (asked.length === 3) client.abort();
    return once();
  };
  await poll(leave, stateOf, 30, client.signal);
  expect(asked).toHaveLength(4);
});

test.each(['empty', 'paused', 'busy'])(
  'a claim that is %s is repeated with pauses',
  async (state) => {
    const { once, asked } = answers(state, state, 'found');
    expect(await poll(once, stateOf, 30, nobody)).toEqual({ body: 'found' });
    expect(asked).toHaveLength(3);
    expect((asked[2] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(100);
  },
);
