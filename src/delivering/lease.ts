import { randomBytes } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';

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

/** LAST_INSERT_ID(x) makes the server answer with x as the statement's insert id: no second question for the tries. */
const TAKE = `
  UPDATE pumps p SET lease_token = ?, lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND,
    tries = LAST_INSERT_ID(tries + 1)
  WHERE webhook_id = ? AND ${LEASE_IS_FREE}`;

const RENEW = `
  UPDATE pumps SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND WHERE (webhook_id, lease_token) IN (?)`;

const RELEASE = `UPDATE pumps SET lease_token = NULL, tries = 0 WHERE webhook_id = ? AND lease_token = ?`;

/** The right to send for one webhook. Only who holds it can write results, so that two runs never mix theirs. */
export interface Lease {
  webhookId: string;
  token: string;
  /** Runs in a row, this one included, that were begun and neither wrote a result nor gave the lease back. */
  tries: number;
}

/** Takes the webhook's lease, or returns null when another run holds it. */
export async function takeLease(sql: Sql, webhookId: string): Promise<Lease | null> {
  const token = randomBytes(16).toString('base64url');
  const { affectedRows, insertId } = await sql.query<WriteResult>(TAKE, [token, webhookId]);
  return affectedRows === 0 ? null : { webhookId, token, tries: Number(insertId) };
}

/** Prolongs leases that are still held. One that was lost stays lost: whoever has it finds out when it writes. */
export async function renewLeases(sql: Sql, leases: readonly Lease[]): Promise<void> {
  if (leases.length > 0) await sql.query(RENEW, [leases.map(({ webhookId, token }) => [webhookId, token])]);
}

export async function releaseLease(sql: Sql, { webhookId, token }: Lease): Promise<void> {
  await sql.query(RELEASE, [webhookId, token]);
}
