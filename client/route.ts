import type { Method } from './call.ts';
import type { Route, Routes } from './wire.ts';

/** As it is typed: the server says which words are allowed. */
type Typed<T> = T extends string ? string : T extends object ? { [K in keyof T]: Typed<T[K]> } : T;
/** `unknown` is what a route takes nothing of. */
type Part<N extends string, T, V> = unknown extends T
  ? { [K in N]?: never }
  : object extends T
    ? { [K in N]?: { [F in keyof T]: V } }
    : { [K in N]: { [F in keyof T]: V } };
/** In a query string; a field that is null or undefined is left out. */
type Value = string | number | boolean | null | undefined;

/** What a route takes; a body may be JSON text, which goes as it is. */
export type Given<R extends Route> = Part<'path', Routes[R]['path'], string> &
  Part<'query', Routes[R]['query'], Value> & { body?: Typed<Routes[R]['body']> | string };

/** What is not given is left out. */
export function queryString(options: object): string {
  const given = Object.entries(options).filter(([, value]) => value != null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/** The method of a route, and its path with what is given in it. */
export function addressOf(
  route: Route,
  { path = {}, query = {} }: { path?: object; query?: object },
): [method: Method, path: string] {
  const [method, template = ''] = route.split(' ');
  const names = new Map(Object.entries(path));
  const filled = template.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(names.get(name)));
  return [method as Method, filled + queryString(query)];
}
