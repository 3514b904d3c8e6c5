import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

/** The files whose statements run for each movement, delivery or record. */
const HOT = [
  'delivery/webhook-state.ts',
  'delivery/engine/log-ranges.ts',
  'delivery/engine/retries.ts',
  'delivery/engine/record-results.ts',
  'ledger/append.ts',
  'ledger/matching.ts',
  'ledger/group-commit.ts',
];

/** A part of two statements. */
const PARTS = ['DUE_RETRIES'];

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(SRC, path), 'utf8') }));

it('a statement that carries a name has that of its constant, and no other constant has it', () => {
  const named = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/const (\w+) =[^;]*?[`'"]\s*\/\* ([A-Z_]+) \*\//g)].map(([, constant, name]) => ({
      path,
      constant,
      name,
    })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ constant, name }) => constant !== name)).toEqual([]);
  const again = named.filter(({ path, name }) =>
    sources.some((it) => it.path !== path && new RegExp(`const ${name}\\b`).test(it.text)),
  );
  expect(again).toEqual([]);
});

it('every statement on the way of a movement carries its name', () => {
  const unnamed = sources
    .filter(({ path }) => HOT.includes(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/const (\w+) =[^;]*?[`'"]\s*(?:SELECT|INSERT|UPDATE|DELETE)\b/g)].flatMap(
        ([, constant = '']) => (PARTS.includes(constant) ? [] : [`${path} ${constant}`]),
      ),
    );
  expect(unnamed).toEqual([]);
});
