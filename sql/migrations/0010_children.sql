-- Append-only: which tasks depend on a task, or are parts of it. The table is for people who look at a task:
-- what a task waits for is in tock.dependency_waits. A row goes when the history of the parent is gone.
create table tock.children (
  parent bigint not null,
  child bigint not null,
  primary key (parent, child)
);
