import { describe, expect, it } from 'vitest';
import { decideAll, type RowsToDecide } from '../../../src/intake/known/decide-rows.ts';
import { decideRows, TooMuchToCompareError } from '../../../src/intake/known/decide-safely.ts';
import type { FileStatement } from '../../../src/intake/known/file-entries.ts';

/** Statements of one entry each, all of one day, whose balances do not follow each other. */
const statementsOf = (count: number, kind: 'final' | 'interim', rowsEach = 1): FileStatement[] =>
  Array.from({ length: count }, (_, n) => {
    const opening = BigInt(n) * 10_000_000n;
    return {
      kind,
      format: 'mt940',
      line: n + 1,
      number: null,
      sequence: null,
      from: '2026-03-02',
      to: `2026-03-${String(2 + (n % 20)).padStart(2, '0')}`,
      opening,
      closing: opening + 5_000n,
      fingerprint: String(n),
      rows: Array.from({ length: rowsEach }, () => ({
        day: '2026-03-02',
        amount: 5_000n,
        balance: opening + 5_000n,
        reference: null,
        text: String(n),
      })),
      indexes: Array.from({ length: rowsEach }, (_, row) => n * rowsEach + row),
    };
  });

const inputOf = (statements: FileStatement[]): RowsToDecide => ({
  accountId: '1',
  importId: '7',
  mayAssume: true,
  statements,
  stored: {
    movements: Array.from({ length: 30 }, (_, n) => ({
      id: String(n + 1),
      import_id: '3',
      dc: 'Credit' as const,
      amount: '5.00',
      balance: `${n}0005.00`,
      date_issue: '2026-03-02',
      unique_id: `content:${n}:1`,
      name: null,
      code: null,
      description: `${n}`,
      opponent_id: null,
      opponent_iban: null,
      statement_id: '9',
      batch_reference: null,
      batch_amount: null,
      is_reversal: 0,
      position: n,
    })),
    repeated: [],
    headers: [
      {
        id: '9',
        import_id: '3',
        format: 'mt940',
        kind: 'final' as const,
        number: null,
        sequence: null,
        from_date: '2026-03-02',
        to_date: '2026-03-02',
        opening_balance: null,
        closing_balance: null,
        difference: null,
        fingerprint: Buffer.from('0123456789abcdef'),
      },
    ],
    currency: 'TRY',
    useNumbers: true,
  },
});

describe('deciding which rows of a file are stored', () => {
  it('gives the same in a thread, and the process does other work meanwhile', async () => {
    const input = inputOf(statementsOf(300, 'final', 5));
    let passes = 0;
    const timer = setInterval(() => {
      passes += 1;
    }, 1);
    const decided = await decideRows('1', structuredClone(input));
    clearInterval(timer);
    expect(decided).toEqual(decideAll(input));
    expect(decided.identities).toHaveLength(1_500);
    // Without a thread, there is no pass between the parts.
    expect(passes).toBeGreaterThan(20);
  });

  it('ends at a deadline with a sentence, and the next file is decided', async () => {
    const file = inputOf(statementsOf(600, 'final'));
    await expect(decideRows('1', file, 20)).rejects.toThrow(
      new TooMuchToCompareError(
        'Comparing the file with what is stored takes more than 0.02 s. Send it in several files.',
      ),
    );
    expect((await decideRows('1', inputOf(statementsOf(30, 'final')))).identities).toHaveLength(30);
  });

  it.each(['final', 'interim'] as const)(
    'decides a statement each minute: %s',
    async (kind) => {
      expect((await decideRows('1', inputOf(statementsOf(1_440, kind)))).identities).toHaveLength(1_440);
    },
    120_000,
  );
});
