-- Bearer keys of the HTTP door. Only a SHA-256 is kept: a key is 244 random bits, so it needs no salt.
create table tock.keys (
  prefix text collate "C" primary key,
  hash bytea not null unique,
  name text not null,
  scopes text[] not null,
  queues text[],
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint scopes_are_known check (
    scopes <@ array['enqueue', 'claim', 'read', 'admin'] and cardinality(scopes) > 0)
);
