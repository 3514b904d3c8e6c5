import { randomBytes } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';
import { NEXT_DUE_AT } from './due.ts';

/**
 * How long a run may be silent before another takes its webhook over. BullMQ notices a crashed worker after 10 to 15 s, so
 * that its job usually finds the lease free.
 */
export const LEASE_SECONDS = 12;

/**
 * A condition on `pumps p`: free, or expired. A lease that would end later than a new one was given before the clock was
 * set back: it counts as expired too, or the webhook would wait until the clock has caught up.
 */
export const LEASE_IS_FREE = `(p.lease_token IS NULL OR p.lease_until < NOW(6)
    OR p.lease_until > NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;

/** Where nothing is due there is nothing to take, and nothing to commit: half of all runs only find that another was quicker. */
const TAKE = `
  UPDATE pumps p SET lease_token = ?, lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND, tries = tries + 1
  WHERE webhook_id IN (?) AND ${LEASE_IS_FREE} AND ${NEXT_DUE_AT('p.webhook_id')} <= NOW(6)`;

const TAKEN = 'SELECT webhook_id FROM pumps WHERE webhook_id IN (?) AND lease_token = ?';

const RENEW = `
  UPDATE pumps SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND WHERE (webhook_id, lease_token) IN (?)`;

const RELEASE = `UPDATE pumps SET lease_token = NULL, tries = 0 WHERE webhook_id = ? AND lease_token = ?`;

/** The right to send for one webhook. Only who holds it can write results, so that two runs never mix theirs. */
export interface Lease {
  webhookId: string;
  token: string;
}

/**
 * Takes the leases of these webhooks, in one statement.
 * @returns for each its lease; null when nothing is due, or another run holds it.
 */
export async function takeLeases(sql: Sql, webhookIds: readonly string[]): Promise<(Lease | null)[]> {
  const token = randomBytes(16).toString('base64url');
  const { affectedRows } = await sql.query<WriteResult>(TAKE, [token, webhookIds]);
  if (affectedRows === webhookIds.length) return webhookIds.map((webhookId) => ({ webhookId, token }));
  if (affectedRows === 0) return webhookIds.map(() => null);
  const rows = await sql.query<{ webhook_id: string }[]>(TAKEN, [webhookIds, token]);
  const taken = new Set(rows.map(({ webhook_id }) => webhook_id));
  // Of two runs for the same webhook the first one has it.
  return webhookIds.map((webhookId) => (taken.delete(webhookId) ? { webhookId, token } : null));
}

/** Prolongs leases that are still held. One that was lost stays lost: whoever has it finds out when it writes. */
export async function renewLeases(sql: Sql, leases: readonly Lease[]): Promise<void> {
  if (leases.length > 0) await sql.query(RENEW, [leases.map(({ webhookId, token }) => [webhookId, token])]);
}

export async function releaseLease(sql: Sql, { webhookId, token }: Lease): Promise<void> {
  await sql.query(RELEASE, [webhookId, token]);
}
