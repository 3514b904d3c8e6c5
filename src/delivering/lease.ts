import { randomBytes } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';

/**
 * How long a run may be silent before another takes its webhook over. BullMQ notices a crashed worker after 10 to 15 s, so
 * that its job usually finds the lease free.
 */
export const LEASE_SECONDS = 12;

/**
 * Free, or expired. A lease that would end later than a new one was given before the clock was set back: it counts as
 * expired too, or the webhook would wait until the clock has caught up.
 */
const TAKE = `
  UPDATE pumps SET lease_token = ?, lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND
  WHERE webhook_id = ? AND (lease_token IS NULL OR lease_until < NOW(6)
    OR lease_until > NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;

const RENEW = `
  UPDATE pumps SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND WHERE webhook_id = ? AND lease_token = ?`;

const RELEASE = `UPDATE pumps SET lease_token = NULL WHERE webhook_id = ? AND lease_token = ?`;

/** The right to send for one webhook. Only who holds it can write results, so that two runs never mix theirs. */
export interface Lease {
  webhookId: string;
  token: string;
}

/** Takes the webhook's lease, or returns null when another run holds it. */
export async function takeLease(sql: Sql, webhookId: string): Promise<Lease | null> {
  const token = randomBytes(16).toString('base64url');
  const { affectedRows } = await sql.query<WriteResult>(TAKE, [token, webhookId]);
  return affectedRows === 1 ? { webhookId, token } : null;
}

/** False: the lease was lost, and what is in hand belongs to another run. */
export async function renewLease(sql: Sql, { webhookId, token }: Lease): Promise<boolean> {
  const { affectedRows } = await sql.query<WriteResult>(RENEW, [webhookId, token]);
  return affectedRows === 1;
}

export async function releaseLease(sql: Sql, { webhookId, token }: Lease): Promise<void> {
  await sql.query(RELEASE, [webhookId, token]);
}
