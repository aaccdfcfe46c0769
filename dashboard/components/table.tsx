import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Explained } from './explained.tsx';

export type Column<Row> = {
  name: string;
  /** What is in the column, behind a question mark. */
  explanation?: string;
  /** True for numbers, which are aligned to the right. */
  number?: boolean;
  /** True for the boxes that select rows. They come before the cell that names the row. */
  box?: boolean;
  /** What the header shows in place of the name. */
  head?: ComponentChildren;
  /** The column is left out if this is empty for every row. */
  present?(row: Row): unknown;
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

/** Zeros and dashes are pale, so that other numbers stand out. */
const isNil = (content: ComponentChildren) => content === '0' || content === '–';

const classOf = ({ number, box }: Column<never>, content?: ComponentChildren) =>
  box ? 'box' : !number ? '' : isNil(content) ? 'number nil' : 'number';

/** A table that scrolls horizontally on narrow pages, also by keyboard. */
export function Table<Row>({ label, rows, emptyText, sorted, stacked, ...props }: Props<Row>) {
  const { id } = props;
  const columns = props.columns.filter(({ present }) => !present || rows.some(present));
  const naming = columns.findIndex(({ box }) => !box);
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
    // A group, because a section would be one more landmark with the name of the panel around it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex lint/a11y/useSemanticElements: keyboard users scroll it by focus
    <div class="scroll" role="group" aria-label={label} tabIndex={0}>
      <table aria-label={label} class={stacked ? 'stacked' : ''} {...role('table')}>
        <thead {...role('rowgroup')}>
          <tr {...role('row')}>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                {...role('columnheader')}
                class={classOf(column)}
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
                  (column.head ?? column.name)
                )}
                {column.explanation && (
                  <Explained text={column.explanation} label={`What is ${column.name}?`}>
                    ?
                  </Explained>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...role('rowgroup')}>
          {sortRows(rows, columns, order).map((row) => (
            <tr key={id(row)} {...role('row')}>
              {columns.map((column, n) => {
                const Cell = n === naming ? 'th' : 'td';
                const content = column.show(row);
                return (
                  <Cell
                    key={column.name}
                    class={classOf(column, content)}
                    {...(n === naming && { scope: 'row' })}
                    {...role(n === naming ? 'rowheader' : 'cell')}
                    data-name={column.name}
                  >
                    {content}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
