import type { Method } from './call.ts';
import type { Route, Routes } from './wire.ts';

/** Replaces unions of words by string, because the server checks the words. */
type Widened<T> = T extends string
  ? string
  : T extends object
    ? { [K in keyof T]: Widened<T[K]> }
    : T;
/** A part of a route's input. `unknown` means that the route has no such part. */
type Part<N extends string, T, V> = unknown extends T
  ? { [K in N]?: never }
  : object extends T
    ? { [K in N]?: { [F in keyof T]: V } }
    : { [K in N]: { [F in keyof T]: V } };
/** A value in a query string; null and undefined are left out. */
type Value = string | number | boolean | null | undefined;

/** The input of a route. A body that is JSON text is sent unchanged. */
export type RouteInput<R extends Route> = Part<'path', Routes[R]['path'], string> &
  Part<'query', Routes[R]['query'], Value> & { body?: Widened<Routes[R]['body']> | string };

/** A query string without the options that are null or undefined. */
export function queryString(options: object): string {
  const defined = Object.entries(options).filter(([, value]) => value != null);
  const text = new URLSearchParams(
    defined.map(([name, value]) => [name, String(value)]),
  ).toString();
  return text && `?${text}`;
}

/** The method of a route, and its path with the parameters filled in. */
export function requestLine(
  route: Route,
  { path = {}, query = {} }: { path?: object; query?: object },
): [method: Method, path: string] {
  const [method, template = ''] = route.split(' ');
  const names = new Map(Object.entries(path));
  const pathname = template.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(names.get(name)));
  return [method as Method, pathname + queryString(query)];
}
