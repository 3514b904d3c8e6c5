import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { identify } from '../../../src/imports/identity/identify.ts';
import { bankHistories } from './bank.ts';
import { sendAll } from './bank-books.ts';
import { createReceive, TRAPS } from './traps.ts';

const HISTORIES = Number(process.env.HISTORIES ?? 500);
const SEED = Number(process.env.SEED ?? 20_261_124);

test(
  `in ${HISTORIES} histories of a bank, no movement is silently lost or stored twice`,
  () => {
    let groups = 0;
    let assumed = 0;
    fc.assert(
      fc.property(bankHistories(HISTORIES > 1_000 ? 25 : 12), (history) => {
        const sent = sendAll(history);
        groups += sent.groups;
        assumed += sent.assumed;
        expect(sent.wrong).toBeNull();
      }),
      { numRuns: HISTORIES, seed: SEED },
    );
    // Most keys must be certain, or the histories would prove nothing.
    expect(assumed / groups).toBeLessThan(0.4);
  },
  HISTORIES * 1_000,
);

/** Deliberate breaks of the rule: the file, the original code, and the code that replaces it. */
const BREAKS: [name: string, file: string, rule: string, instead: string][] = [
  ['linked statements may have bookings in common', 'identify.ts', 'if (linked) {', 'if (false) {'],
  [
    'what may follow is certainly the same',
    'identify.ts',
    "isDoubtful(movement) ? 'assumed' : isMoved",
    'isMoved',
  ],
  ['what statements before have brought is free', 'identify.ts', 'apart.has(owner.laid)', 'false'],
  ['one equal step is an overlap', 'overlaps.ts', 'step < length', 'step < 1'],
  ['one row proves a shift', 'compare-days.ts', 'compared >= ROWS_OF_SHIFT && amounts.size > 1', 'true'],
  ['days need no balance in common', 'compare-days.ts', 'if (!isAnchored) {', 'if (false) {'],
  ['balances match nothing', 'match-rows.ts', '(balance === null ? null : String(balance))', 'null'],
  ['a file is read in one order', 'laid.ts', 'reversed: isReversible ?', 'reversed: false ?'],
  ['all files list the oldest row first', 'walks.ts', "direction === 'descending'", 'false'],
  [
    'balances of JSON need no statement',
    'believed-balances.ts',
    'return walk.positions.length > 1 && met.has(walk);',
    'return true;',
  ],
];

const RULE = 'src/imports/identity';
const FILES = [
  ...[
    'append.ts',
    'believed-balances.ts',
    'books.ts',
    'compare-days.ts',
    'identify.ts',
    'joined-walks.ts',
    'laid.ts',
  ],
  ...['match-left.ts', 'match-rows.ts', 'numbers.ts', 'overlaps.ts', 'statement.ts', 'walks.ts'],
];

/** Whether a trap or a history detects that the rule was changed. */
function isFound(decide: typeof identify): boolean {
  try {
    for (const [, check] of TRAPS) check(createReceive(decide));
  } catch {
    return true;
  }
  const property = fc.property(bankHistories(12), (history) => sendAll(history, decide).wrong === null);
  return fc.check(property, { numRuns: 2_000, seed: SEED, endOnFailure: true }).failed;
}

test.each(BREAKS)(
  'the traps or the histories detect a broken identity rule: %s',
  async (_, file, rule, instead) => {
    const folder = mkdtempSync(join(process.cwd(), 'test/imports/identity/broken-'));
    try {
      for (const name of FILES) {
        const source = readFileSync(join(RULE, name), 'utf8');
        if (name === file) expect(source.split(rule)).toHaveLength(2);
        writeFileSync(join(folder, name), name === file ? source.replace(rule, () => instead) : source);
      }
      const broken: { identify: typeof identify } = await import(join(folder, 'identify.ts'));
      expect(isFound(broken.identify)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  60_000,
);
