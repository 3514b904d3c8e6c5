import { it } from 'vitest';
import { createStatementCustomer, mt940, type TestEntry } from '../intake/statement-files.ts';
import { useService } from '../support/service.ts';
import { expectRightBooks } from './right-books.ts';

const service = useService({ roles: ['api'] });

/** The bank's entries of two days. A file has those from one position to another. */
const ENTRIES: readonly TestEntry[] = [
  ...[10, 11, 12].map((amount) => ({ day: 6, amount })),
  ...[20, -21, 22, 23].map((amount) => ({ day: 7, amount })),
];
const OPENING = 1_000;

const opening = (from: number) => ENTRIES.slice(0, from).reduce((sum, { amount }) => sum + amount, OPENING);
const final = (from: number, to: number) => mt940(ENTRIES.slice(from, to), { opening: opening(from) });
const interim = (from: number, to: number) => mt940(ENTRIES.slice(from, to), { interim: true });

it.each([
  ['of the last day', [final(0, 5), interim(3, 7)]],
  ['of both days', [final(0, 5), interim(0, 6)]],
  ['of the last day, beside a longer report of both days', [interim(0, 5), final(0, 5), interim(3, 7)]],
  ['that a final statement has confirmed', [interim(0, 5), interim(3, 7), final(0, 7)]],
])('the books are right with an interim report %s', async (_report, files) => {
  const { customerId, importFile } = await createStatementCustomer(service);
  for (const file of files) await importFile(file);
  await expectRightBooks(service, customerId);
});
