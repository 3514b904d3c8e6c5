import { describe, expect, it } from 'vitest';
import { findKnownEntries } from '../../../packages/reconcile/src/index.ts';
import { readStatements } from '../../../packages/statements/src/index.ts';
import { entriesOf } from '../statement-events.ts';
import { inAccount, read } from './records.ts';

async function readFile(...records: string[]) {
  const statements = [];
  for await (const it of readStatements(Buffer.from(inAccount(records.join('\n'))))) statements.push(it);
  return statements;
}

/** How the transactions of a file are known after the file came, with another transaction at its end. */
async function decide(...records: string[]) {
  const [stored] = await readFile(...records);
  const received = await readFile(...records, '16,195,7,,NEW000017,,OTHER');
  const entries = (stored?.entries ?? []).map((entry, at) => ({ ...entry, id: String(at) }));
  const { decisions } = findKnownEntries(stored === undefined ? [] : [{ ...stored, entries }], received);
  return decisions.flat().map((it) => (it.outcome === 'known' ? it.reason : it.outcome));
}

describe('a reference of a BAI2 transaction', () => {
  it.each<[string, string, string, object]>([
    ["the bank's", 'BANK-1', 'OWN-1', { reference: 'BANK-1', description: 'TEXT OWN-1' }],
    ["the customer's, if the bank has none", '', 'OWN-1', { reference: 'OWN-1', isOwnReference: true }],
    ...['0', '000000', '0000000000'].flatMap((zeros): [string, string, string, object][] => [
      ["the customer's, if the bank's is zero", zeros, 'OWN-1', { reference: 'OWN-1', isOwnReference: true }],
      ['zero, if both are zero', zeros, zeros, { reference: zeros, description: 'TEXT' }],
      [
        "the bank's, if the customer's is zero",
        'BANK-1',
        zeros,
        { reference: 'BANK-1', description: 'TEXT' },
      ],
    ]),
  ])('is %s: "%s", "%s"', async (_, bank, customer, expected) => {
    const [entry] = entriesOf(await read(inAccount(`16,195,100,,${bank},${customer},TEXT`)));
    expect(entry).toMatchObject(expected);
    expect(entry?.isOwnReference).toBe('isOwnReference' in expected ? true : undefined);
  });

  it.each<[string, string[], string[]]>([
    ["one of the bank's is an id", ['16,195,100,,BANK00017,,TEXT'], ['same', 'new']],
    ['a zero is no id', ['16,195,100,,0000000000,,TEXT'], ['assumed', 'new']],
    ["the customer's is no id", ['16,195,100,,,OWN000017,TEXT'], ['assumed', 'new']],
    ["the customer's is no id beside a zero", ['16,195,100,,0000000000,OWN000017,TEXT'], ['assumed', 'new']],
    [
      'a batch number of the bank that repeats is no id, and the others are',
      ['16,195,100,,BATCH0017,,ONE', '16,195,300,,BATCH0017,,TWO', '16,195,500,,BANK00018,,TEXT'],
      ['assumed', 'assumed', 'same', 'new'],
    ],
  ])('tells whether an entry is known: %s', async (_, records, expected) => {
    expect(await decide(...records)).toEqual(expected);
  });
});
