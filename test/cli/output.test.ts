import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createTerminal } from '../../src/cli/context.ts';
import { type Column, renderColumns } from '../../src/cli/output.ts';
import { compiled } from '../support/compiled.ts';

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

it('a terminal gets no control characters of names that others give, and JSON has them all', () => {
  let said = '';
  const sink = {
    write(text: string) {
      said += text;
      return true;
    },
  };
  const terminal = createTerminal(sink as never, sink as never);
  const name = 'a\u001b[31mb\u0007\tc\nd\u009be';
  terminal.answer(false, {}, name);
  terminal.note(name);
  expect(said).toBe('a[31mb\tc\nde\na[31mb\tc\nde\n');
  said = '';
  terminal.answer(true, { name }, '');
  expect(JSON.parse(said)).toEqual({ name });
});

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

it.each(['formats', 'formats --json'])('%s fails where its output cannot be written', (command) => {
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(
    process.execPath,
    [compiled('src/cli/main.ts'), ...command.split(' ')],
    { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' },
  );
  closeSync(full);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^error: The output could not be written: ENOSPC/),
  });
});

it('a reader that closes the output early is no failure', () => {
  const { stdout, stderr } = spawnSync(
    'sh',
    [
      '-c',
      `{ "$0" "$1" formats; echo "exit code $?" >&2; } | true`,
      process.execPath,
      compiled('src/cli/main.ts'),
    ],
    { encoding: 'utf8' },
  );
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'exit code 0\n' });
});
