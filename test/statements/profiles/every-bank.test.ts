import { expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { parseProfile } from '../../../packages/statements/src/parse-profile.ts';
import { type Column, type Layout, layoutsOf } from '../../../packages/statements/src/profile.ts';
import { BANKS } from '../../../packages/statements/src/profiles/bank-profiles.ts';
import type { Entry, StatementEvent } from '../../../packages/statements/src/statement.ts';

/** Each built-in profile reads several accounts, several currencies, balances and ids, as far as its definition has them. */

const layouts = Object.entries(BANKS).flatMap(([name, file]) =>
  layoutsOf([parseProfile(name, file)]).map((layout, at): [string, Layout] => [`${name} ${at + 1}`, layout]),
);

const DATES: Record<string, string> = { DD: '13', MM: '10', YYYY: '2026', YY: '26', MMM: 'Oct' };
const write = (format: string) => format.replaceAll(/YYYY|YY|MMM|MM|DD/g, (part) => DATES[part] ?? part);

/** The heading of a layout, with the columns that it reads beyond it. Positions without a heading stay empty. */
function headingOf({ heading = [], columns }: Layout): string[] {
  const named = [columns.balance, columns.reference].filter((it) => typeof it === 'string');
  const all = [...heading, ...named.filter((it) => !heading.includes(it))];
  const places = [columns.date, columns.amount, columns.balance, columns.reference, columns.description];
  const width = Math.max(all.length, ...places.flat().map((it) => (typeof it === 'number' ? it : 0)));
  return [...all, ...Array<string>(width - all.length).fill('')];
}

function tableOf(layout: Layout) {
  const heading = headingOf(layout);
  const { columns, account } = layout;
  const amount = layout.decimalSign === ',' ? '5,00' : '5.00';
  const line = (cells: readonly string[]) => cells.map((cell) => `"${cell}"`).join(layout.delimiter);
  const placeOf = (column: Column) => (typeof column === 'number' ? column - 1 : heading.indexOf(column));
  const row = (number: string, currency: string, reference: string) => {
    const cells = heading.map(() => '');
    const set = (column: Column | undefined, text: string | undefined) => {
      if (column !== undefined && text !== undefined && placeOf(column) !== -1) cells[placeOf(column)] = text;
    };
    set(columns.reference, reference);
    set(columns.status?.column, columns.status?.booked?.[0]);
    set(columns.date, write(layout.dateFormats[0] ?? ''));
    set(columns.amount ?? columns.credit, amount);
    set(columns.balance, amount);
    set(columns.indicator?.column, columns.indicator?.credit[0]);
    if (account.number !== undefined && 'column' in account.number) set(account.number.column, number);
    if (account.currency !== undefined && 'column' in account.currency)
      set(account.currency.column, currency);
    return line(cells);
  };
  return { heading: line(heading), row, line };
}

async function read(layout: Layout, lines: readonly string[]) {
  async function* text() {
    yield `${lines.join('\n')}\n`;
  }
  const events: StatementEvent[] = [];
  for await (const some of createCsvParser(layout)(text())) events.push(...some);
  return {
    accounts: events.flatMap((it) =>
      it.type === 'statement' ? [`${it.account.number} ${it.account.currency}`] : [],
    ),
    entries: events.flatMap((it): Entry[] => (it.type === 'entry' ? [it.entry] : [])),
    faults: events.flatMap((it) => (it.type === 'issue' || it.type === 'warning' ? [it.message] : [])),
  };
}

it.each(layouts)('%s', async (_, layout) => {
  const { columns, account } = layout;
  const { heading, row, line } = tableOf(layout);
  const isBy = (key: 'number' | 'currency') => account[key] !== undefined && 'column' in account[key];
  const fixed = account.currency !== undefined && 'value' in account.currency ? account.currency.value : null;
  const nameOf = (number: string, currency: string) =>
    `${isBy('number') ? number : null} ${isBy('currency') ? currency : fixed}`;
  const rows = [row('111', 'EUR', 'r1'), row('222', 'EUR', 'r2'), row('111', 'USD', 'r3')];
  const { accounts, entries, faults } = await read(layout, [heading, ...rows]);
  expect(faults).toEqual([]);
  const expected = [nameOf('111', 'EUR'), nameOf('222', 'EUR'), nameOf('111', 'USD')];
  expect(accounts).toEqual([...new Set(expected)]);
  expect(entries).toHaveLength(3);
  for (const { balance } of entries) expect(balance).toBe(columns.balance === undefined ? null : 5_000n);
  const references = entries.map(({ reference }) => reference).toSorted();
  expect(references).toEqual(columns.reference === undefined ? [null, null, null] : ['r1', 'r2', 'r3']);

  if (account.number === undefined || !('label' in account.number)) return;
  const [label = ''] = [account.number.label].flat();
  const tables = ['111', '222'].flatMap((number) => [line([label, number]), heading, row('', 'EUR', 'r')]);
  const ofTables = await read(layout, tables);
  expect(ofTables.faults).toEqual([]);
  expect(ofTables.accounts.map((name) => name.split(' ')[0])).toEqual(['111', '222']);
});
