import {
  Boxes,
  CalendarClock,
  type IconNode,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListTodo,
  Lock,
  Network,
  ScrollText,
  Server,
  Users,
} from 'lucide';
import type { KeyInfo } from './types.ts';

export type PageEntry = {
  path: string;
  name: string;
  icon: IconNode;
  /** Words that the palette finds it by, besides its name. */
  also?: string;
  /** After `g` this key goes to the page. */
  letter: string;
  /** Whether it needs a key of every queue and tenant. */
  all?: boolean;
  /** Whether it needs a key of every tenant. */
  everyTenant?: boolean;
  /** Whether it needs the scope admin. */
  admin?: boolean;
};

const pages: PageEntry[] = [
  { path: '', name: 'Overview', icon: LayoutDashboard, letter: 'o' },
  { path: 'tasks', name: 'Tasks', icon: ListTodo, letter: 't' },
  { path: 'groups', name: 'Groups', icon: Network, letter: 'g', also: 'parents batches' },
  {
    path: 'bulk_changes',
    name: 'Bulk changes',
    icon: Layers,
    letter: 'b',
    everyTenant: true,
  },
  { path: 'workers', name: 'Workers', icon: Users, letter: 'w', all: true, also: 'leases' },
  { path: 'schedules', name: 'Schedules', icon: CalendarClock, letter: 's', all: true },
  { path: 'concurrency_keys', name: 'Concurrency keys', icon: Lock, letter: 'c' },
  { path: 'pools', name: 'Pools', icon: Boxes, letter: 'p', all: true },
  { path: 'system', name: 'System', icon: Server, letter: 'y', all: true },
  { path: 'keys', name: 'Keys', icon: KeyRound, letter: 'k', all: true, admin: true },
  { path: 'audit_log', name: 'Audit log', icon: ScrollText, letter: 'a', all: true, admin: true },
];

/** Whether the key sees all queues and tenants. */
export const seesAll = ({ queues, tenants }: KeyInfo) => queues === null && tenants === null;

/** The pages that this key may see. */
export const pagesFor = (keyInfo: KeyInfo) =>
  pages.filter(
    ({ all, everyTenant, admin }) =>
      (!all || seesAll(keyInfo)) &&
      (!everyTenant || keyInfo.tenants === null) &&
      (!admin || keyInfo.scopes.includes('admin')),
  );
