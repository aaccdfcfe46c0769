-- The id for a position in a stream. A task that was waiting when it got its id has stream 0. The id of a
-- task or run is its address: 43 bits of position, 20 bits of stream. The first 10 bits, id >> 53, are its
-- range: of several nodes, each has ranges of its own. PostgreSQL inlines the next three functions.
create or replace function tock.id_at(p_position bigint, p_stream bigint)
returns bigint language sql immutable as $$
  select p_position << 20 | p_stream
$$;

-- The position in an id.
create or replace function tock.position_of(p_id bigint)
returns bigint language sql immutable as $$
  select p_id >> 20
$$;

-- The stream in an id; 0 for a task that started out waiting.
create or replace function tock.stream_of(p_id bigint)
returns integer language sql immutable as $$
  select (p_id & 1048575)::integer
$$;

-- True if a text has the form of a task id.
create or replace function tock.is_id(p_text text)
returns boolean language sql immutable as $$
  select p_text ~ '^\d{1,18}$' or (p_text ~ '^\d{19}$' and p_text <= '9223372036854775807')
$$;

-- True if a text is an ISO 8601 date and time with a zone.
create or replace function tock.is_instant(p_text text)
returns boolean language plpgsql stable as $$
begin
  return p_text ~ '^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)$'
    and extract(year from p_text::timestamptz) between 1970 and 9999;
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value
    then return false;
end $$;

-- The ids of an array of {id, ...}; TK422 names an element without an id or with one given before.
create or replace function tock.parse_ids(p_rows jsonb, p_field text)
returns bigint[] language plpgsql immutable as $$
declare
  v_id text;
  v_ids bigint[] := '{}';
  v_bad bigint;
begin
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_rows) - 1 loop
    v_id := p_rows -> v_n ->> 'id';
    if tock.is_id(v_id) then
      v_ids := v_ids || v_id::bigint;
    else
      perform tock.refuse(422, 'an id is a whole number, as enqueue and claim return it',
        pg_catalog.format('%s[%s].id', p_field, v_n));
    end if;
  end loop;
  if pg_catalog.cardinality(v_ids) > 1 then
    select min(d.n) into v_bad from (
      select i.n, row_number() over (partition by i.id order by i.n) as times
      from unnest(v_ids) with ordinality i(id, n)) d where d.times > 1;
    if v_bad is not null then
      perform tock.refuse(422, 'this id is given twice', pg_catalog.format('%s[%s].id', p_field, v_bad - 1));
    end if;
  end if;
  return v_ids;
end $$;

-- A token for a lease: 31 bits of the cursor that it was claimed at, random bits, the segment in the last 28.
-- Version 5 marks runs with options. The token begins with the cursor, so leases claimed together are
-- neighbours in the index on token. With random tokens, each lease wrote an index page of its own after a
-- checkpoint (docs/decisions/0005). 62 bits are random, so a token cannot be guessed; a caller also needs a
-- role or an API key. The first bit is 0.
create or replace function tock.new_token(p_segment integer, p_after bigint, p_version text default '4')
returns uuid language sql volatile as $$
  select pg_catalog.overlay(pg_catalog.overlay(pg_catalog.overlay(pg_catalog.gen_random_uuid()::text,
      pg_catalog.lpad(pg_catalog.to_hex(p_after & 2147483647), 8, '0'), 1),
      p_version, 15),
      pg_catalog.lpad(pg_catalog.to_hex(p_segment), 7, '0'), 30)::uuid
$$;

-- A token for a lease of one run: the first bit 1, 31 bits of the cursor, version 8, random bits, 20 bits of
-- stream, 28 bits of segment. The token of a lease of one run contains the primary key of the lease. So its
-- claim and its end need no index on token: that index covers only rows whose column alone is null. 42 bits
-- are random.
create or replace function tock.new_token_of_one(p_segment integer, p_stream integer, p_after bigint)
returns uuid language sql volatile as $$
  select pg_catalog.overlay(pg_catalog.overlay(pg_catalog.overlay(pg_catalog.gen_random_uuid()::text,
      pg_catalog.to_hex(p_after & 2147483647 | 2147483648), 1),
      '8', 15),
      pg_catalog.lpad(pg_catalog.to_hex(p_stream), 5, '0')
        || pg_catalog.lpad(pg_catalog.to_hex(p_segment), 7, '0'), 25)::uuid
$$;

-- True if a lease was claimed with one run, so that its token is its address: see new_token_of_one().
create or replace function tock.is_of_one(p_lease uuid)
returns boolean language sql immutable as $$
  select pg_catalog.get_byte(pg_catalog.uuid_send(p_lease), 0) > 127
    and pg_catalog.get_byte(pg_catalog.uuid_send(p_lease), 6) >> 4 = 8
$$;

-- The stream in the token of a lease of one run.
create or replace function tock.token_stream(p_lease uuid)
returns integer language sql immutable as $$
  select ('x' || pg_catalog.substr(p_lease::text, 25, 5))::bit(20)::integer
$$;

-- The after_position of a lease of one run, from its token and the first position of its segment. A segment
-- is at most 2^30 positions wide.
create or replace function tock.token_cursor(p_lease uuid, p_first bigint)
returns bigint language sql immutable as $$
  select p_first - 1 + (
    ('x' || pg_catalog.left(p_lease::text, 8))::bit(32)::bigint - (p_first - 1) & 2147483647)
$$;

-- The segment that a token names; lease_segment() checks that it exists.
create or replace function tock.token_segment(p_lease uuid)
returns integer language sql immutable as $$
  select ('x' || pg_catalog.right(p_lease::text, 7))::bit(28)::integer
$$;

-- True if the runs of a lease have options: see new_token().
create or replace function tock.lease_has_options(p_lease uuid)
returns boolean language sql immutable as $$
  select pg_catalog.substr(p_lease::text, 15, 1) = '5'
$$;

-- The ids, with their index, whose index is not in p_found. The estimate of 1,000 rows makes the planner
-- choose a generic plan that suits many ids too.
create or replace function tock.unmatched_ids(p_ids bigint[], p_found bigint[], out id bigint, out n bigint)
returns setof record language plpgsql immutable rows 1000 as $$
begin
  return query
    select i.id, i.n from unnest(p_ids) with ordinality i(id, n)
    except select p_ids[f.n], f.n from unnest(p_found) f(n);
end $$;
