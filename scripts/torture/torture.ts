import { pause, type Random } from '../soak/clock.ts';
import { type Ground, met } from '../soak/soak.ts';
import { type Answer, type Api, call, explained, patience } from './call.ts';
import type { Facts } from './facts.ts';
import type { Tortured } from './stack.ts';

/** What everybody in the torture has at hand. */
export type Torture = Ground & {
  stack: Tortured;
  facts: Facts;
  heard: Api['heard'];
  /** The first of so many numbers for tasks. */
  take(many: number): number;
  /** How many have not ended, as of half a second ago. */
  left: number;
};

/** Counts how a call went; what nothing explains is a difference. */
export function hearing(torture: Pick<Torture, 'ledger'>): Api['heard'] {
  return (verb, outcome, detail) => {
    torture.ledger.count(`${verb}: ${outcome}`);
    if (!explained.test(outcome))
      torture.ledger.differ('an answer that nothing explains', 0, `${verb}: ${outcome} ${detail}`);
  };
}

type Asking = { method?: string; body?: unknown; patience?: number };

/** A client over HTTP. */
export function clientOf({ stack, heard, ledger }: Torture, random: Random) {
  const api: Api = { url: stack.url, key: stack.key, heard, random };
  return {
    api,
    async call(verb: string, path: string, asking: Asking): Promise<Answer | null> {
      const answer = await call(api, verb, path, asking);
      if (answer === null && asking.patience === patience)
        ledger.differ('a call that was never answered', 0, `${verb}: ${path}`);
      return answer;
    },
  };
}

export type Client = ReturnType<typeof clientOf>;

/** Makes steps until the torture ends. */
export async function stepping(
  torture: Torture,
  random: Random,
  step: (client: Client, random: Random) => Promise<unknown>,
): Promise<void> {
  const client = clientOf(torture, random);
  while (torture.going) {
    await step(client, random).catch((error) => met(torture.ledger, 'client', error));
    await pause(10 + random(80));
  }
}
