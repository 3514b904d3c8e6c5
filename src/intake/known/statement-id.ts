import type { Movement } from '../../ledger/movement.ts';

/**
 * The unique id of a movement that came in a statement: `statement:<date>:<dc>:<amount>:<number>:<reference>`. The date is part of
 * it because banks reuse references, and the number because entries share them.
 */
const ID = /^statement:\d{4}-\d\d-\d\d:(?:Debit|Credit):\d+\.\d\d:(\d+):([\s\S]*)$/;

/** Characters of a reference that are kept. */
const REFERENCE_LENGTH = 128;

/** The part of a reference that is kept; null if it is blank. */
export const shortenReference = (reference: string | null): string | null =>
  (reference ?? '').trim().slice(0, REFERENCE_LENGTH) || null;

export const formatStatementId = (
  { date_issue, dc, amount }: Pick<Movement, 'date_issue' | 'dc' | 'amount'>,
  { number, reference }: { number: number; reference: string | null },
): string => `statement:${date_issue}:${dc}:${amount}:${number}:${shortenReference(reference) ?? ''}`;

/**
 * Reads the number and the reference of a unique id. Senders choose the ids of movements in JSON, so those say nothing about the
 * bank's references.
 */
export function parseStatementId(uniqueId: string): { number: number; reference: string | null } {
  const [, number = '0', reference = ''] = ID.exec(uniqueId) ?? [];
  return { number: Number(number), reference: reference || null };
}
