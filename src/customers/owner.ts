import type { Sql } from '../database/transaction.ts';

/** Finds the customer to whom something belongs. */

/** Of each kind, the customer, for the id of one. Indexes: the primary keys. */
const CUSTOMER_OF = {
  webhook:
    "SELECT customer_id AS customerId FROM webhooks WHERE id = ? AND status <> 'deleted' AND is_template = 0",
  // The deliveries of a deleted webhook stay readable.
  delivery: 'SELECT customer_id AS customerId FROM webhooks WHERE id = ?',
  source: "SELECT customer_id AS customerId FROM sources WHERE id = ? AND status <> 'deleted'",
  import: 'SELECT customer_id AS customerId FROM imports WHERE id = ?',
  api_key: 'SELECT customer_id AS customerId FROM api_keys WHERE id = ?',
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

export type OwnedKind = keyof typeof CUSTOMER_OF;

export const OWNED_KINDS = Object.keys(CUSTOMER_OF) as [OwnedKind, ...OwnedKind[]];

/** @param id of the thing; for a delivery, that of its webhook. @returns the id of its customer; null: there is no such thing. */
export async function findOwner(sql: Sql, kind: OwnedKind, id: string): Promise<string | null> {
  const [owner] = await sql.query<{ customerId: string }[]>(CUSTOMER_OF[kind], [id]);
  return owner?.customerId ?? null;
}
