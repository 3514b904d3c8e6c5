import { userInfo } from 'node:os';
import type { Operator } from '../customers/caller.ts';
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

/** Finds the customer of each kind of object that a command can name. Indexes: the primary keys. */
const CUSTOMER_OF = {
  webhook: "SELECT customer_id AS customerId FROM webhooks WHERE id = ? AND status <> 'deleted'",
  // The deliveries of a deleted webhook stay readable.
  delivery: 'SELECT customer_id AS customerId FROM webhooks WHERE id = ?',
  source: "SELECT customer_id AS customerId FROM sources WHERE id = ? AND status <> 'deleted'",
  import: 'SELECT customer_id AS customerId FROM imports WHERE id = ?',
  'API key': 'SELECT customer_id AS customerId FROM api_keys WHERE id = ?',
  // A movement that was withdrawn is found too.
  movement: `
    SELECT COALESCE(t.customer_id, w.customer_id) AS customerId FROM (SELECT CAST(? AS UNSIGNED) AS id) wanted
      LEFT JOIN transactions t ON t.id = wanted.id LEFT JOIN withdrawn_transactions w ON w.id = wanted.id
    WHERE COALESCE(t.id, w.id) IS NOT NULL`,
  conflict: 'SELECT customer_id AS customerId FROM movement_conflicts WHERE id = ?',
  replay: 'SELECT customer_id AS customerId FROM replays WHERE id = ?',
  account: 'SELECT customer_id AS customerId FROM accounts WHERE id = ?',
  // A statement that was withdrawn is found too.
  statement: `
    SELECT COALESCE(s.customer_id, w.customer_id) AS customerId FROM (SELECT CAST(? AS UNSIGNED) AS id) wanted
      LEFT JOIN statements s ON s.id = wanted.id LEFT JOIN withdrawn_statements w ON w.id = wanted.id
    WHERE COALESCE(s.id, w.id) IS NOT NULL`,
  withdrawal: 'SELECT customer_id AS customerId FROM withdrawals WHERE id = ?',
} as const;

/** The object that a command names. For a delivery, `id` is the id of its webhook. */
export interface Subject {
  kind: keyof typeof CUSTOMER_OF;
  id: string;
}

/** The messages for objects that nobody has. */
export const MISSING: Readonly<Record<Subject['kind'], string>> = {
  webhook: 'There is no webhook of that id, or it was deleted.',
  delivery: 'There is no delivery of that id.',
  source: 'There is no source of that id, or it was deleted.',
  import: 'There is no import of that id.',
  'API key': 'There is no API key of that id.',
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
  const [owner] = await sql.query<{ customerId: string }[]>(CUSTOMER_OF[subject.kind], [subject.id]);
  if (owner === undefined) throw new Failure(MISSING[subject.kind]);
  if (customerId !== undefined && owner.customerId !== customerId)
    throw new Failure(`The ${subject.kind} does not belong to customer ${customerId}.`);
  return owner.customerId;
}

/** @throws {Failure} when there is no such customer. */
export async function requireCustomer(sql: Sql, customerId: string): Promise<void> {
  const found = await sql.query<unknown[]>('SELECT 1 FROM customers WHERE id = ?', [customerId]);
  if (found.length === 0) {
    throw new Failure('There is no customer of that id. List the customers with: ledgerbell customers list');
  }
}
