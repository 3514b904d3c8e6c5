import { describe, expect, it } from 'vitest';
import type { MinorUnits, StatementEvent } from '../../../src/statements/statement.ts';
import { readComparison } from './comparison.ts';
import { entries, ofType, parse, readFiles } from './events.ts';

const SAMPLES = new URL('../../../../shared/samples/', import.meta.url);
const genkgo = readFiles(new URL('camt-genkgo/', SAMPLES));
const comparisons = readFiles(new URL('camt-genkgo/', SAMPLES), '.json');
const files = new Map([...genkgo, ...readFiles(new URL('camt-goldmaster/', SAMPLES))]);
const isAbsent = files.size === 0;

/** For each file: statements, entries (the pending ones included), issues, warnings. */
const COUNTS: Record<string, [number, number, number, number]> = {
  'business_sample_camt.052.001.04.xml': [1, 2, 0, 0],
  'business_sample_camt.053.001.04.xml': [1, 3, 0, 0],
  'business_sample_camt.054.001.04.xml': [1, 1, 0, 0],
  'camt052.v1.xml': [1, 1, 0, 0],
  'camt052.v2.other-account.xml': [1, 1, 0, 0],
  // No dates.
  'camt052.v2.with-account-name.xml': [1, 0, 1, 0],
  'camt052.v2.xml': [1, 1, 0, 0],
  'camt052.v4.xml': [1, 1, 0, 0],
  'camt052.v6.Amt-zero.xml': [1, 1, 0, 0],
  'camt052.v6.xml': [1, 1, 0, 0],
  'camt052.v8.xml': [1, 1, 0, 0],
  'camt053.v2.all-balance-types.xml': [1, 1, 0, 0],
  'camt053.v2.five.decimals.xml': [1, 1, 0, 0],
  // The closing balance is in another currency than the account, as in the other files with a warning.
  'camt053.v2.minimal.ultimate.xml': [1, 1, 0, 1],
  'camt053.v2.minimal.xml': [1, 1, 0, 1],
  'camt053.v2.multi.statement.xml': [2, 2, 0, 0],
  'camt053.v2.with-account-name.xml': [1, 1, 0, 0],
  'camt053.v2.with-party-ids.xml': [1, 1, 0, 1],
  // A message without a statement.
  'camt053.v2.wrong.xml': [0, 0, 1, 0],
  'camt053.v3.xml': [1, 1, 0, 1],
  'camt053.v4.xml': [1, 1, 0, 1],
  'camt053.v8.xml': [1, 1, 0, 1],
  // No dates.
  'camt054.v2.with-account-name.xml': [1, 0, 1, 0],
  'camt054.v2.xml': [1, 1, 0, 0],
  'camt054.v4.xml': [1, 1, 0, 0],
  // No dates in these two.
  'camt054.v8-with-UETR.xml': [1, 0, 1, 0],
  'camt054.v8-with-financial-institution.xml': [1, 0, 1, 0],
  'camt054.v8.xml': [1, 1, 0, 0],
  // A balance and no entries.
  'camt53.only-Dt-with-DtTm.xml': [1, 0, 0, 0],
  // One of three entries has no date.
  'statement_ac04.xml': [1, 2, 1, 0],
};

/** Closing balance minus opening balance and booked entries, by file and number of the statement. */
const DIFFERENCES: Record<string, MinorUnits> = {
  // The file says 18.15 + 8.85 = 27.05.
  'camt053.v2.five.decimals.xml 1': 5n,
  // Each type of balance has an amount of its own, to tell them apart: 1.01 + 8.85 = 4.04.
  'camt053.v2.all-balance-types.xml 1': -582n,
};

describe.skipIf(isAbsent)('public CAMT files', () => {
  it('are all read, with these numbers of statements, entries, issues and warnings', async () => {
    const counts: typeof COUNTS = {};
    for (const [name, text] of files) {
      const events = await parse(text);
      counts[name] = [
        ofType(events, 'statement').length,
        entries(events).length,
        ofType(events, 'issue').length,
        ofType(events, 'warning').length,
      ];
    }
    expect(counts).toEqual(COUNTS);
  });

  it('lead from the opening to the closing balance, or say otherwise themselves', async () => {
    const differences: typeof DIFFERENCES = {};
    let compared = 0;
    for (const [name, text] of files) {
      for (const [at, { opening, closing, sum }] of balances(await parse(text)).entries()) {
        if (opening === null || closing === null) continue;
        compared += 1;
        if (opening + sum !== closing) differences[`${name} ${at + 1}`] = closing - opening - sum;
      }
    }
    expect(differences).toEqual(DIFFERENCES);
    expect(compared).toBe(5);
  });

  it.each([...comparisons.keys()])('%s agrees on date, amount, direction and counterparty', async (name) => {
    const events = await parse(genkgo.get(name.replace('.json', '.xml')) ?? '');
    // That library lists the entries of the last statement only.
    const last = events.slice(events.findLastIndex(({ type }) => type === 'statement'));
    const read = entries(last).map(({ date, amount, currency, dc, name, opponentIban }) => {
      return { date, amount, currency, dc, name, opponentIban };
    });
    expect(read).toEqual(readComparison(comparisons.get(name) ?? ''));
  });
});

function balances(events: readonly StatementEvent[]) {
  const statements: { opening: bigint | null; closing: bigint | null; sum: bigint }[] = [];
  for (const event of events) {
    const last = statements.at(-1);
    if (event.type === 'statement')
      statements.push({ opening: event.opening?.amount ?? null, closing: null, sum: 0n });
    if (last === undefined) continue;
    if (event.type === 'entry' && event.entry.status === 'booked')
      last.sum += event.entry.dc === 'Credit' ? event.entry.amount : -event.entry.amount;
    if (event.type === 'end') last.closing = event.closing?.amount ?? null;
  }
  return statements;
}

describe('the own samples', () => {
  it('are read as their comments say', async () => {
    const own = readFiles(new URL('../../samples/camt/', import.meta.url));
    const read = async (name: string) => parse(own.get(name) ?? '');
    const events = await read('statement.xml');
    expect(entries(events)).toMatchObject([
      { line: 30, date: '2026-03-02', amount: 10_000n, name: 'Doğan Örneksoy', reference: 'B-1/1' },
      { line: 35, date: '2026-03-02', amount: 15_000n, name: 'Işıl Deneme', reference: 'B-1/2' },
      { line: 42, dc: 'Debit', amount: 6_050n, name: 'Tedarik & Ortakları' },
      { line: 54, dc: 'Credit', amount: 6_050n, name: 'Tedarik & Ortakları' },
      { line: 66, dc: 'Debit', amount: 3_000n, description: 'MAAS-3' },
    ]);
    expect(balances(events)).toEqual([{ opening: 100_000n, closing: 122_000n, sum: 22_000n }]);

    const report = await read('report.xml');
    expect(report.map(({ type }) => type)).toEqual(['statement', 'entry', 'entry', 'issue', 'end']);
    expect(entries(report).map(({ status }) => status)).toEqual(['booked', 'pending']);
    expect(balances(report)).toEqual([{ opening: null, closing: null, sum: 1_200n }]);

    const notification = await read('notification.xml');
    expect(notification.map(({ type }) => type)).toEqual(['statement', 'entry', 'end', 'statement', 'end']);
  });
});
