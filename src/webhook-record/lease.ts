import { randomBytes } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';
import { joinSettings, revisionOf } from './record.ts';

/** The lease of a webhook: one delivery run at a time sends for it, and only its holder records results. */

/** Only the holder of the lease can record results, so the results of two runs never mix. */
export interface Lease {
  webhookId: string;
  token: string;
  /** Records written under this lease so far, so that a record whose COMMIT got no answer is not counted twice. */
  writes: number;
}

/** A webhook as it was read: its revision, the token of its last lease, and the number of records written under that lease. */
export interface LeaseRequest {
  webhookId: string;
  revision: number;
  lastToken: string;
  lastWrites: number;
}

/**
 * How long a lease lasts unless it is renewed. After that, another run can take over the webhook. BullMQ restarts the job of a crashed
 * worker after 10 to 15 s, so the job usually finds the lease expired.
 */
export const LEASE_SECONDS = 12;

/**
 * A condition on `webhook_cursors k`: the lease was given back or has expired. A lease that ends later than a new lease would was taken
 * before the clock was set back. It also counts as expired. Otherwise the webhook would wait until the clock has caught up.
 */
export const LEASE_IS_FREE = `(k.lease_until IS NULL OR k.lease_until < NOW(6)
    OR k.lease_until > NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;

/**
 * Skips a webhook if, since it was read, its lease was taken, results were recorded, or its settings or status changed. The state that
 * was read is then out of date. The token alone is not enough: the holder of an expired lease may still have recorded results and given
 * the lease back. Recording sets crash_count back to 0.
 */
const CLAIM_LEASES = `
  /* CLAIM_LEASES */ UPDATE webhook_cursors k JOIN webhooks w ON w.id = k.webhook_id ${joinSettings('w', 's')} SET k.lease_token = ?, k.lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND,
    k.lease_writes = 0, k.crash_count = k.crash_count + 1
  WHERE k.webhook_id IN (?) AND (k.webhook_id, k.lease_token, k.lease_writes, ${revisionOf('w', 's')}) IN (?) AND ${LEASE_IS_FREE}`;

const READ_CLAIMED_LEASES =
  '/* READ_CLAIMED_LEASES */ SELECT webhook_id FROM webhook_cursors WHERE webhook_id IN (?) AND lease_token = ?';

/** Leaves out rows that another transaction has locked. The next renewal comes before their leases end. */
const READ_HELD_LEASES = `
  /* READ_HELD_LEASES */ SELECT webhook_id FROM webhook_cursors
  WHERE webhook_id IN (?) AND (webhook_id, lease_token) IN (?) AND lease_until IS NOT NULL FOR UPDATE SKIP LOCKED`;

const RENEW_LEASES = `
  /* RENEW_LEASES */ UPDATE webhook_cursors SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND WHERE webhook_id IN (?)`;

/**
 * Takes leases in one statement.
 * @returns a lease for each request; null when another run holds the lease, or when, since the webhook was read, another run has held
 * the lease or recorded results, or the webhook was changed.
 */
export async function takeLeases(sql: Sql, requests: readonly LeaseRequest[]): Promise<(Lease | null)[]> {
  const token = randomBytes(16).toString('base64url');
  const ids = requests.map(({ webhookId }) => webhookId);
  const last = requests.map((it) => [it.webhookId, it.lastToken, it.lastWrites, it.revision]);
  const { affectedRows } = await sql.query<WriteResult>(CLAIM_LEASES, [token, ids, last]);
  const lease = (webhookId: string): Lease => ({ webhookId, token, writes: 0 });
  if (affectedRows === ids.length) return ids.map(lease);
  if (affectedRows === 0) return ids.map(() => null);
  const rows = await sql.query<{ webhook_id: string }[]>(READ_CLAIMED_LEASES, [ids, token]);
  const taken = new Set(rows.map(({ webhook_id }) => webhook_id));
  // Of two requests for the same webhook, the first gets the lease.
  return ids.map((webhookId) => (taken.delete(webhookId) ? lease(webhookId) : null));
}

/**
 * Renews leases that are still held. A lease that was lost stays lost.
 * @param sql a transaction.
 * @returns the leases that were renewed.
 */
export async function renewLeases(sql: Sql, leases: readonly Lease[]): Promise<Lease[]> {
  if (leases.length === 0) return [];
  const tokens = leases.map(({ webhookId, token }) => [webhookId, token]);
  const ids = leases.map(({ webhookId }) => webhookId);
  const rows = await sql.query<{ webhook_id: string }[]>(READ_HELD_LEASES, [ids, tokens]);
  if (rows.length === 0) return [];
  const held = new Set(rows.map(({ webhook_id }) => webhook_id));
  await sql.query(RENEW_LEASES, [[...held]]);
  return leases.filter(({ webhookId }) => held.has(webhookId));
}
