import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export type Column<Row> = {
  name: string;
  /** Numbers stand to the right. */
  number?: boolean;
  show(row: Row): ComponentChildren;
  /** Where rows can be put in this column's order. */
  by?(row: Row): number | string;
};

type Props<Row> = {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id(row: Row): string;
  /** Said where there are no rows. */
  none: string;
  /** The column that a click has not chosen yet. */
  sorted?: string;
  /** On a phone a row is a block, so that no column lies beyond the edge. */
  stacked?: boolean;
};

type Order = { name: string; up: boolean };

function inOrder<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order | null) {
  const by = columns.find(({ name }) => name === order?.name)?.by;
  if (!by || !order) return rows;
  const sign = order.up ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** A table that scrolls by itself where the page is narrow, and can be reached by keyboard to do so. */
export function Table<Row>({ label, rows, columns, id, none, sorted, stacked }: Props<Row>) {
  const [order, setOrder] = useState<Order | null>(sorted ? { name: sorted, up: false } : null);
  if (rows.length === 0) return <p class="none">{none}</p>;
  const turn = (name: string) =>
    setOrder((before) => ({ name, up: before?.name === name ? !before.up : false }));
  // Blocks of CSS are no tables any more to a screen reader: these are.
  const role = <R extends string>(name: R) => (stacked ? { role: name } : {});
  const sortOf = (column: Column<Row>) =>
    order?.name !== column.name ? 'none' : order.up ? 'ascending' : 'descending';
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by its focus
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
                {...(column.by && { 'aria-sort': sortOf(column) })}
              >
                {column.by ? (
                  <button type="button" class="sort" onClick={() => turn(column.name)}>
                    {column.name}
                    <span aria-hidden="true">
                      {order?.name !== column.name ? '' : order.up ? ' ▲' : ' ▼'}
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
          {inOrder(rows, columns, order).map((row) => (
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
