import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export type Column<Row> = {
  name: string;
  /** True for numbers, which are aligned to the right. */
  number?: boolean;
  show(row: Row): ComponentChildren;
  /** Sort key, if rows can be sorted by this column. */
  sortKey?(row: Row): number | string;
};

type Props<Row> = {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id(row: Row): string;
  /** Text for an empty table. */
  emptyText: ComponentChildren;
  /** The initial sort column. */
  sorted?: string;
  /** True if each row is a block on phones, so that no column is cut off. */
  stacked?: boolean;
};

type Order = { name: string; ascending: boolean };

function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order | null) {
  const sortKey = columns.find(({ name }) => name === order?.name)?.sortKey;
  if (!sortKey || !order) return rows;
  const sign = order.ascending ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [x, y] = [sortKey(a), sortKey(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** A table that scrolls horizontally on narrow pages, also by keyboard. */
export function Table<Row>({ label, rows, columns, id, emptyText, sorted, stacked }: Props<Row>) {
  const [order, setOrder] = useState<Order | null>(
    sorted ? { name: sorted, ascending: false } : null,
  );
  if (rows.length === 0) return <div class="none">{emptyText}</div>;
  const toggleOrder = (name: string) =>
    setOrder((previous) => ({
      name,
      ascending: previous?.name === name ? !previous.ascending : false,
    }));
  // Screen readers lose table roles when CSS displays rows as blocks, so the roles are explicit.
  const role = <R extends string>(name: R) => (stacked ? { role: name } : {});
  const ariaSort = (column: Column<Row>) =>
    order?.name !== column.name ? 'none' : order.ascending ? 'ascending' : 'descending';
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it by focus
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table aria-label={label} class={stacked ? 'stacked' : ''} {...role('table')}>
        <thead {...role('rowgroup')}>
          <tr {...role('row')}>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                {...role('columnheader')}
                class={column.number ? 'number' : ''}
                {...(column.sortKey && { 'aria-sort': ariaSort(column) })}
              >
                {column.sortKey ? (
                  <button type="button" class="sort" onClick={() => toggleOrder(column.name)}>
                    {column.name}
                    <span aria-hidden="true">
                      {order?.name !== column.name ? '' : order.ascending ? ' ▲' : ' ▼'}
                    </span>
                  </button>
                ) : (
                  column.name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...role('rowgroup')}>
          {sortRows(rows, columns, order).map((row) => (
            <tr key={id(row)} {...role('row')}>
              {columns.map((column, n) => {
                const Cell = n === 0 ? 'th' : 'td';
                return (
                  <Cell
                    key={column.name}
                    class={column.number ? 'number' : ''}
                    {...(n === 0 && { scope: 'row' })}
                    {...role(n === 0 ? 'rowheader' : 'cell')}
                    data-name={column.name}
                  >
                    {column.show(row)}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
