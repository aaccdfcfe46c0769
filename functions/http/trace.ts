import type { Bindings } from '../env.ts';

/** The trace that a task keeps of its enqueuing request. */
export type Trace = { traceparent: string; tracestate?: string; baggage?: string };

/** These limits keep the trace within a task's headers, which are limited to 8 KiB. */
const MAX_STATE = 512;
const MAX_BAGGAGE = 4096;
const MAX_MEMBERS = 32;

/** A traceparent of version 00; later versions begin the same way. */
const parent =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-[\x20-\x7e]{0,200})?$/;

/** The patterns here and below match in only one way, so a malicious header cannot make them slow. */
const stateMember =
  /^[ \t]*([a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e][ \t]*$/;

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const value = '[ \\t]*([\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]+[ \\t]*)?';
const pair = new RegExp(`^[ \\t]*${token}[ \\t]*=${value}$`);
const property = new RegExp(`^[ \\t]*${token}[ \\t]*(=${value})?$`);

function isParent(text: string): boolean {
  const [, version, , more] = parent.exec(text) ?? [];
  return version !== undefined && (version !== '00' || more === undefined);
}

const isSampled = (traceparent: string) => (Number.parseInt(traceparent.slice(53, 55), 16) & 1) > 0;

const membersOf = (text: string) => text.split(',').filter((member) => /[^ \t]/.test(member));

function isState(text: string): boolean {
  if (text.length > MAX_STATE) return false;
  const members = membersOf(text);
  const keys = members.map((member) => stateMember.exec(member)?.[1]);
  return (
    keys.length > 0 &&
    keys.length <= MAX_MEMBERS &&
    !keys.includes(undefined) &&
    new Set(keys).size === keys.length
  );
}

function isBaggage(text: string): boolean {
  if (text.length > MAX_BAGGAGE) return false;
  const members = membersOf(text).map((member) => member.split(';'));
  return (
    members.length > 0 &&
    members.every(
      ([first = '', ...properties]) =>
        pair.test(first) && properties.every((propertyText) => property.test(propertyText)),
    )
  );
}

/**
 * The trace of a request by W3C Trace Context and Baggage, if TOCK_TRACE keeps it. Invalid headers are ignored, as the
 * specification says; the task is accepted nevertheless.
 */
export function traceOf(
  header: (name: string) => string | undefined,
  { TOCK_TRACE }: Bindings,
): Trace | null {
  const traceparent = header('traceparent');
  if (!traceparent || TOCK_TRACE === 'off' || !isParent(traceparent)) return null;
  if (TOCK_TRACE !== 'all' && !isSampled(traceparent)) return null;
  const tracestate = header('tracestate') ?? '';
  const baggage = header('baggage') ?? '';
  return {
    traceparent,
    ...(isState(tracestate) && { tracestate }),
    ...(isBaggage(baggage) && { baggage }),
  };
}
