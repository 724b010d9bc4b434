// A table of any number of rows of equal height, of which only those in view are in the document.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<R> {
  id: string;
  title: ComponentChildren;
  isNumber?: boolean;
  /** Of a narrow window, this column is left out. */
  isMinor?: boolean;
  cell: (row: R) => ComponentChildren;
  /** The order of the rows by this column. */
  order?: (a: R, b: R) => number;
}

interface Props<R> {
  label: string;
  rows: R[];
  rowKey: (row: R) => string;
  columns: Column<R>[];
  sort?: { by: string; isDescending: boolean };
  onSort?: (by: string) => void;
  /** Without it, rows can be walked through, and that is all. */
  onOpen?: (row: R) => void;
  /** The row that is shown elsewhere. */
  opened?: string | undefined;
  empty: ComponentChildren;
}

const ROW_HEIGHT = 28;
/** Rows beyond the view, above and below. */
const MARGIN = 8;

export function Table<R>(props: Props<R>): JSX.Element {
  const { label, rows, rowKey, columns, sort, onSort, onOpen, opened, empty } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [current, setCurrent] = useState(0);
  const wantsFocus = useRef(false);
  const measure = (): void => {
    const element = frame.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(measure, []);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const active = Math.min(current, Math.max(rows.length - 1, 0));
  const first = Math.max(0, Math.min(Math.floor(view.top / ROW_HEIGHT) - MARGIN, rows.length - 1));
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + MARGIN);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    frame.current?.querySelector<HTMLElement>(`[aria-rowindex="${active + 2}"]`)?.focus({ preventScroll: true });
  });
  const move = (to: number): void => {
    const element = frame.current;
    if (element === null || rows.length === 0) return;
    const next = Math.max(0, Math.min(to, rows.length - 1));
    const top = next * ROW_HEIGHT;
    if (top < element.scrollTop) element.scrollTop = top;
    const below = top + 2 * ROW_HEIGHT - element.clientHeight;
    if (below > element.scrollTop) element.scrollTop = below;
    wantsFocus.current = true;
    setCurrent(next);
    measure();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (!(event.target instanceof HTMLTableRowElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 2);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      j: active + 1,
      ArrowUp: active - 1,
      k: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: rows.length - 1,
    };
    const to = steps[event.key];
    const row = rows[active];
    if (to !== undefined) move(to);
    else if ((event.key === "Enter" || event.key === " ") && row !== undefined) onOpen?.(row);
    else return;
    event.preventDefault();
  };
  return (
    <div class={onOpen === undefined ? "table" : "table opens"} ref={frame} onScroll={measure}>
      <table aria-label={label} aria-rowcount={rows.length + 1} onKeyDown={pressed}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                class={classes(column)}
                aria-sort={sort?.by !== column.id ? undefined : sort.isDescending ? "descending" : "ascending"}
              >
                {column.order !== undefined && onSort !== undefined ? (
                  <button type="button" class="sort" onClick={() => onSort(column.id)}>
                    {column.title}
                    <span aria-hidden="true">{sort?.by !== column.id ? "" : sort.isDescending ? " ↓" : " ↑"}</span>
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr aria-hidden="true" class="space" style={{ height: `${first * ROW_HEIGHT}px` }} />
          {rows.slice(first, end).map((row, index) => (
            <tr
              key={rowKey(row)}
              aria-rowindex={first + index + 2}
              aria-selected={opened === rowKey(row) ? true : undefined}
              tabIndex={first + index === active ? 0 : -1}
              onFocus={() => setCurrent(first + index)}
              onClick={() => {
                setCurrent(first + index);
                onOpen?.(row);
              }}
            >
              {columns.map((column) => (
                <td key={column.id} class={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <tr aria-hidden="true" class="space" style={{ height: `${(rows.length - end) * ROW_HEIGHT}px` }} />
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </div>
  );
}

function classes<R>(column: Column<R>): string {
  return `${column.isNumber ? "number" : ""} ${column.isMinor ? "minor" : ""} column-${column.id}`;
}
