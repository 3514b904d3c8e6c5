/**
 * What a delivery to a webhook for movements is about: a movement, also one that was withdrawn, or the withdrawal of a movement, which has an
 * id of its own. SQL for these.
 */

/**
 * Stands in for `transactions t`, for some ids. Indexes: the primary keys, and withdrawn_transactions_id.
 * @param ids a condition, of which each use takes the same values: `IN (?)`.
 */
const subjects = (ids: string): string => `(
  SELECT id, customer_id, account_id, dc, date_readed, NULL AS withdraws, 0 AS is_withdrawn FROM transactions WHERE id ${ids}
  UNION ALL SELECT id, customer_id, account_id, dc, date_readed, NULL, 1 FROM withdrawn_transactions WHERE id ${ids}
  UNION ALL SELECT event_id, customer_id, account_id, dc, withdrawn_at, id, 0 FROM withdrawn_transactions WHERE event_id ${ids}) t`;

export const SUBJECTS = { sql: subjects('IN (?)'), values: (ids: readonly string[]) => [ids, ids, ids] };

export const SUBJECT = { sql: subjects('= ?'), values: (id: string) => [id, id, id] };

/** A movement with its withdrawal, if it has one. */
export const SUBJECTS_OF_MOVEMENT = {
  sql: `(
  SELECT id, customer_id, account_id, dc, date_readed, NULL AS withdraws FROM transactions WHERE id = ?
  UNION ALL SELECT id, customer_id, account_id, dc, date_readed, NULL FROM withdrawn_transactions WHERE id = ?
  UNION ALL SELECT event_id, customer_id, account_id, dc, withdrawn_at, id FROM withdrawn_transactions WHERE id = ?) t`,
  values: (id: string) => [id, id, id],
};

/** The account of a delivery's subject. @param id an expression. */
export const accountOf = (id: string): string => `COALESCE(
  (SELECT x.account_id FROM transactions x WHERE x.id = ${id}),
  (SELECT x.account_id FROM withdrawn_transactions x WHERE x.id = ${id}),
  (SELECT x.account_id FROM withdrawn_transactions x WHERE x.event_id = ${id}))`;
