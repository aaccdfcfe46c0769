import type { Mutant } from './mutants.ts';

/** Push: allowed endpoints and signatures. */
export const push: Mutant[] = [
  {
    name: 'private addresses are allowed',
    in: 'functions',
    find: "parsed.range() === 'unicast' &&",
    replace: '',
    caught: ['push/guard.test.ts', ' may not'],
  },
  {
    name: 'only the first target of a redirect is checked',
    in: 'functions',
    find: 'check(url, from, env);',
    replace: 'if (from === null) check(url, from, env);',
    caught: [
      'push/deliver.test.ts',
      'each target of a redirect is checked, and https must stay https',
    ],
  },
  {
    name: 'https may be redirected to http',
    in: 'functions',
    find: "from?.startsWith('https:')",
    replace: 'from === url',
    caught: [
      'push/deliver.test.ts',
      'each target of a redirect is checked, and https must stay https',
    ],
  },
  {
    name: 'the addresses of a name are not checked',
    in: 'functions',
    find: 'found.find(({ address }) => !allowed(address))',
    replace: 'found.find(() => false)',
    caught: ['push/node.test.ts', 'a name that resolves to a private address is refused'],
  },
  {
    name: "a task's push_url is checked at its delivery only",
    in: 'functions',
    find: '.push_url`, push_url, env);',
    replace: '.push_url`, null, env);',
    caught: ['http/push.test.ts', ' as a delivery does'],
  },
  {
    name: 'the previous secret signs for ever',
    in: 'functions',
    find: '&& Date.parse(queueGeneration.previous_until) > Date.now()',
    replace: '',
    caught: [
      'push/secret.test.ts',
      "during a rotation's overlap both secrets are valid, then only the new one",
    ],
  },
];
