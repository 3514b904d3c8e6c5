import type { Movement } from '../movement.ts';

/**
 * The unique id of a movement that came in a statement: `statement:<date>:<dc>:<amount>:<number>:<reference>`. The date is part of
 * it, because banks use references again; the number, because entries share them.
 */
const ID = /^statement:\d{4}-\d\d-\d\d:(?:Debit|Credit):\d+\.\d\d:(\d+):([\s\S]*)$/;

/** Characters of a reference that are kept. */
const REFERENCE_LENGTH = 128;

/** The part of a reference that is kept. A blank one is none. */
export const shortenReference = (reference: string | null): string | null =>
  (reference ?? '').trim().slice(0, REFERENCE_LENGTH) || null;

export const formatStatementId = (
  { date_issue, dc, amount }: Pick<Movement, 'date_issue' | 'dc' | 'amount'>,
  { number, reference }: { number: number; reference: string | null },
): string => `statement:${date_issue}:${dc}:${amount}:${number}:${shortenReference(reference) ?? ''}`;

/**
 * Reads the number and the reference of a unique id. The ids of movements that were sent as JSON are their senders', and say nothing
 * about the bank's references.
 */
export function parseStatementId(uniqueId: string): { number: number; reference: string | null } {
  const [, number = '0', reference = ''] = ID.exec(uniqueId) ?? [];
  return { number: Number(number), reference: reference || null };
}
