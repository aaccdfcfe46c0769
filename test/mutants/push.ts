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
    caught: ['push/deliver.test.ts', 'each target of a redirect is judged again'],
  },
  {
    name: 'https may be redirected to http',
    in: 'functions',
    find: "from?.startsWith('https:')",
    replace: 'from === url',
    caught: ['push/deliver.test.ts', 'each target of a redirect is judged again'],
  },
  {
    name: 'the addresses of a name are not checked',
    in: 'functions',
    find: 'found.find(({ address }) => !allowed(address))',
    replace: 'found.find(() => false)',
    caught: ['push/node.test.ts', 'a name that leads into a private network is not connected to'],
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
    find: '&& Date.parse(of.previous_until) > Date.now()',
    replace: '',
    caught: ['push/secret.test.ts', 'while a rotation overlaps both secrets verify'],
  },
];
