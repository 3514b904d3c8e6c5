import { expect } from 'vitest';
import { areBooksRight, verifyBooks } from '../../src/books/verify-books.ts';
import type { useService } from '../support/service.ts';

/** Expects that `ledgerbell verify` finds nothing wrong with a customer's books. @param about said before the report if it does. */
export async function expectRightBooks(
  { runtime: { database } }: ReturnType<typeof useService>,
  customerId: number | string,
  about = 'report',
): Promise<void> {
  const report = await verifyBooks(database, String(customerId), { from: null, to: null });
  expect(areBooksRight(report), `${about}: ${JSON.stringify(report)}`).toBe(true);
}
