import { userInfo } from 'node:os';
import type { Operator } from '../customers/caller.ts';
import { findOwner, type OwnedKind } from '../customers/owner.ts';
import type { Sql } from '../database/transaction.ts';
import { Failure } from './context.ts';

/** The person at the command line, and the customer that owns the object of a command. */

/** The person at the command line, for the audit log: the system's user. */
export const currentOperator = (): Operator => ({ source: 'command line', name: userName(), role: 'admin' });

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have a number but no name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The object that a command names. For a delivery, `id` is the id of its webhook. */
export interface Subject {
  kind: OwnedKind;
  id: string;
}

/** The messages for objects that nobody has. */
/** A kind in words. */
export const wordsOf = (kind: OwnedKind): string => (kind === 'api_key' ? 'API key' : kind);

export const MISSING: Readonly<Record<Subject['kind'], string>> = {
  webhook: 'There is no webhook of that id, or it was deleted.',
  delivery: 'There is no delivery of that id.',
  source: 'There is no source of that id, or it was deleted.',
  import: 'There is no import of that id.',
  api_key: 'There is no API key of that id.',
  movement: 'There is no movement of that id.',
  conflict: 'There is no conflict of that id.',
  replay: 'There is no replay of that id.',
  account: 'There is no account of that id.',
  statement: 'There is no statement of that id.',
  withdrawal: 'There is no withdrawal of that id.',
};

/**
 * Finds the customer for whom an operator acts: the customer that the command names, or the owner of the command's subject.
 * @throws {Failure} when there is neither, or the subject does not belong to the customer.
 */
export async function findCustomerId(
  sql: Sql,
  customerId: string | undefined,
  subject: Subject | undefined,
): Promise<string> {
  if (customerId !== undefined) await requireCustomer(sql, customerId);
  if (subject === undefined) {
    if (customerId !== undefined) return customerId;
    throw new Failure(
      'Say for which customer: give --customer <id> as the operator, or an API key with --key or LEDGERBELL_API_KEY.',
    );
  }
  const owner = await findOwner(sql, subject.kind, subject.id);
  if (owner === null) throw new Failure(MISSING[subject.kind]);
  if (customerId !== undefined && owner !== customerId)
    throw new Failure(`The ${wordsOf(subject.kind)} does not belong to customer ${customerId}.`);
  return owner;
}

/** @throws {Failure} when there is no such customer. */
export async function requireCustomer(sql: Sql, customerId: string): Promise<void> {
  const found = await sql.query<unknown[]>('SELECT 1 FROM customers WHERE id = ?', [customerId]);
  if (found.length === 0) {
    throw new Failure('There is no customer of that id. List the customers with: ledgerbell customers list');
  }
}
