import { describe, expect, it } from 'vitest';
import { parseMt940 } from '../../packages/statements/src/mt940/parse.ts';
import { settleDirections } from '../../packages/statements/src/shared/directions.ts';
import type { StatementEvent } from '../../packages/statements/src/statement.ts';

/** An entry: its mark in :61:, and its amount in whole units. */
type Line = readonly [mark: string, amount: number];

const balance = (amount: number) => `${amount < 0 ? 'D' : 'C'}260302EUR${Math.abs(amount)},`;
const statement = (lines: readonly Line[], opening: number | null, closing: number | null) =>
  [
    ':20:A',
    ':25:1',
    ...(opening === null ? [':34F:EUR0,'] : [`:60F:${balance(opening)}`]),
    ...lines.map(([mark, amount], at) => `:61:260302${mark}${amount},NTRFNONREF//R${at}`),
    ...(closing === null ? [] : [`:62F:${balance(closing)}`]),
    '-',
    '',
  ].join('\n');

async function read(text: string, size = text.length) {
  async function* parts() {
    for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
  }
  const events: StatementEvent[] = [];
  for await (const some of settleDirections(parseMt940(parts()))) events.push(...some);
  const entries = events.flatMap((it) => (it.type === 'entry' ? [it.entry] : []));
  return {
    events,
    signed: entries.map(({ dc, amount }) => Number(dc === 'Debit' ? -amount : amount) / 1_000),
    warnings: events.flatMap((it) => (it.type === 'warning' ? [it.message] : [])),
  };
}

describe('the direction of reversals of a statement with both balances', () => {
  const COMMON: Line[] = [
    ['D', 50],
    ['C', 7],
  ];
  it.each([
    ['stays as the file has it if that gives the closing balance', [['RD', 50]], 50, [50]],
    ['is turned if only the other direction gives the closing balance', [['RD', 50]], -50, [-50]],
    ['is turned for a debit', [['RC', 50]], 50, [50]],
    [
      'is turned for one of two',
      [
        ['RD', 50],
        ['RC', 20],
      ],
      70,
      [50, 20],
    ],
    [
      'is turned for all',
      [
        ['RD', 50],
        ['RD', 30],
      ],
      -80,
      [-50, -30],
    ],
    [
      'is turned for all, credits and debits',
      [
        ['RD', 50],
        ['RC', 30],
      ],
      -20,
      [-50, 30],
    ],
    [
      'is turned for all debits only',
      [
        ['RD', 50],
        ['RC', 30],
        ['RC', 3],
      ],
      83,
      [50, 30, 3],
    ],
    [
      'stays if two readings give the closing balance',
      [
        ['RD', 50],
        ['RD', 50],
      ],
      0,
      [50, 50],
    ],
    ['stays if no reading gives the closing balance', [['RD', 50]], 1, [50]],
    [
      'stays if only a set of some gives it',
      [
        ['RD', 50],
        ['RD', 30],
        ['RD', 9],
        ['RC', 1],
      ],
      -72,
      [50, 30, 9, -1],
    ],
  ] as const)('%s', async (_, reversals, sum, found) => {
    const text = statement([...COMMON, ...reversals], 100, 100 - 43 + sum);
    const asFileHasIt = reversals.map(([mark, amount]) => (mark === 'RD' ? amount : -amount));
    for (const size of [text.length, 1]) {
      const { signed, warnings } = await read(text, size);
      expect(signed).toEqual([-50, 7, ...found]);
      expect(warnings).toHaveLength(found.filter((it, at) => it !== asFileHasIt[at]).length);
    }
  });

  it('stays if the difference is of another kind of entry', async () => {
    expect((await read(statement(COMMON, 100, 157))).signed).toEqual([-50, 7]);
  });

  it.each([
    ['opening', null, 7],
    ['closing', 100, null],
  ] as const)('stays without an %s balance', async (_, opening, closing) => {
    expect((await read(statement([['RD', 50]], opening, closing))).signed).toEqual([50]);
  });

  it('stays in a statement with more than 10,000 entries from the first reversal on, which are passed on before its end', async () => {
    const lines: Line[] = [['RD', 50], ...Array.from({ length: 10_000 }, (): Line => ['C', 1])];
    const { signed, warnings } = await read(statement(lines, 100, 100 - 50 + 10_000));
    expect([signed[0], signed.length, warnings.length]).toEqual([50, 10_001, 0]);
  });

  it('is settled for each statement of a file', async () => {
    const text = statement([['RD', 50]], 100, 50) + statement([['RD', 50]], 50, 100);
    expect((await read(text)).signed).toEqual([-50, 50]);
  });

  it('costs no entry if the file breaks off', async () => {
    async function* broken() {
      yield [...(await read(statement([['RD', 50]], 100, null))).events.slice(0, 2)];
      throw new Error('broken off');
    }
    const found: StatementEvent[] = [];
    await expect(async () => {
      for await (const some of settleDirections(broken())) found.push(...some);
    }).rejects.toThrow('broken off');
    expect(found.map(({ type }) => type)).toEqual(['statement', 'entry']);
  });
});
