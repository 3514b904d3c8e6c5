import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { findKnown } from '../../packages/reconcile/src/known.ts';
import { histories } from './histories.ts';
import { judge } from './judge.ts';
import { createReceive, TRAPS } from './traps.ts';

/** Deliberate breaks of the rule: the file, the original code, and the code that replaces it. */
const BREAKS: [name: string, file: string, rule: string, instead: string][] = [
  ['linked statements may have bookings in common', 'relation.ts', 'if (linked || isIssue)', 'if (isIssue)'],
  ['numbers tell nothing apart', 'relation.ts', 'if (separate && (linked || areOther))', 'if (false)'],
  [
    'a repetition that may be a new statement is certain',
    'relation.ts',
    'isDoubtful || mayGoOn || beginsLater || mayOnlySeem;',
    'false;',
  ],
  [
    'what statements before have brought is free',
    'known.ts',
    'if (ofFormat.length > 0) return ofFormat.some(isOf);',
    'return false;',
  ],
  [
    'one equal step is an overlap',
    'comparison/run.ts',
    '(length === pattern.length || at + length === text.length)',
    'true',
  ],
  [
    'one row proves a shift',
    'comparison/compare.ts',
    '(pairs.length >= ROWS_OF_SHIFT || haveEqualTexts) &&\n    amounts.size > 1 &&',
    '',
  ],
  [
    'a statement that is issued again is compared by its balances',
    'comparison/compare.ts',
    'areIssues(one, other) ? compareIssues(one, other, byBalance) : byBalance',
    'byBalance',
  ],
  [
    'days need no balance in common',
    'comparison/compare.ts',
    'const isAnchored = opensEqual || closesEqual;',
    'const isAnchored = true;',
  ],
  ['balances match nothing', 'comparison/match.ts', 'balance === null ? null : String(balance)', 'null'],
  ['a file is read in one order', 'walk.ts', "if (direction === 'unknown') return [];", ''],
  ['all files list the oldest row first', 'walk.ts', "if (direction === 'descending') order.reverse();", ''],
  ['a word is an id', 'walk.ts', '/[1-9]/.test(reference) && ', ''],
  ['another order of a day is another day', 'known.ts', '    takeDays(deciding, mayAssume);\n', ''],
];

const RULE = 'packages/reconcile/src';

/** Whether a trap or a history detects that the rule was changed. */
function isFound(decide: typeof findKnown): boolean {
  try {
    for (const [, check] of TRAPS) check(createReceive(decide));
  } catch {
    return true;
  }
  const variants = ['plain', 'another order', 'constant references', 'late bookings'] as const;
  return variants.some((variant) => {
    // Without a break, these histories have nothing that is silently wrong.
    const property = fc.property(histories(variant, 8), (history) => judge(history, decide).silent === 0);
    return fc.check(property, { numRuns: 300, seed: 4, endOnFailure: true }).failed;
  });
}

const withRule = async (
  change: (name: string, source: string) => string,
  use: (decide: typeof findKnown) => void,
) => {
  const folder = mkdtempSync(join(process.cwd(), 'packages/reconcile/broken-'));
  try {
    cpSync(RULE, folder, { recursive: true });
    for (const name of readdirSync(RULE, { recursive: true, encoding: 'utf8' }).filter((it) =>
      it.endsWith('.ts'),
    ))
      writeFileSync(join(folder, name), change(name, readFileSync(join(RULE, name), 'utf8')));
    const broken: { findKnown: typeof findKnown } = await import(join(folder, 'known.ts'));
    use(broken.findKnown);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test('the traps and the histories find nothing in the rule itself', async () => {
  await withRule(
    (_, source) => source,
    (decide) => expect(isFound(decide)).toBe(false),
  );
});

test.each(BREAKS)(
  'the traps or the histories detect a broken rule: %s',
  async (_, file, rule, instead) => {
    await withRule(
      (name, source) => {
        if (name !== file) return source;
        expect(source.split(rule)).toHaveLength(2);
        return source.replace(rule, () => instead);
      },
      (decide) => expect(isFound(decide)).toBe(true),
    );
  },
  60_000,
);
