import { expect, it } from 'vitest';
import { type Column, renderColumns } from '../../src/cli/output.ts';

type Row = readonly [id: number, name: string, error: string];

const COLUMNS: readonly Column<Row>[] = [
  ['id', ([id]) => id, 'right'],
  ['name', ([, name]) => name],
  ['error', ([, , error]) => error, 'whole'],
];
const ROWS: readonly Row[] = [
  [7, 'n'.repeat(200), 'e'.repeat(150)],
  [12, 'short', ''],
];

it('a table on a terminal is cut to its width, except a column that is the purpose of the table', () => {
  const lines = renderColumns(COLUMNS, ROWS, 100).split('\n');
  expect(lines).toEqual([
    `id  ${'name'.padEnd(89)}  error`,
    ` 7  ${'n'.repeat(88)}…  ${'e'.repeat(150)}`,
    `12  ${'short'.padEnd(89)}  -`,
  ]);
});

it('a table in a pipe is whole', () => {
  expect(process.stdout.isTTY).not.toBe(true);
  expect(renderColumns(COLUMNS, ROWS)).toContain(` 7  ${'n'.repeat(200)}  ${'e'.repeat(150)}`);
});
