import { randomBytes } from 'node:crypto';
import type { Sql, WriteResult } from '../database/transaction.ts';

/**
 * How long a run may be silent before another takes its webhook over. BullMQ notices a crashed worker after 10 to 15 s, so
 * that its job usually finds the lease expired.
 */
export const LEASE_SECONDS = 12;

/**
 * A condition on `webhook_cursors k`: given back, or expired. A lease that would end later than a new one was given before the
 * clock was set back: it counts as expired too, or the webhook would wait until the clock has caught up.
 */
export const LEASE_IS_FREE = `(k.lease_until IS NULL OR k.lease_until < NOW(6)
    OR k.lease_until > NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;

/**
 * Fails if anybody has taken the lease, or recorded, since the webhook was read: what was read is not true any more then. The records
 * matter where it was read after a lease had expired, and the holder of that lease went on, recorded and gave it back.
 */
const TAKE = `
  UPDATE webhook_cursors k SET k.lease_token = ?, k.lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND,
    k.lease_writes = 0, k.crash_count = k.crash_count + 1
  WHERE k.webhook_id IN (?) AND (k.webhook_id, k.lease_token, k.lease_writes) IN (?) AND ${LEASE_IS_FREE}`;

const TAKEN = 'SELECT webhook_id FROM webhook_cursors WHERE webhook_id IN (?) AND lease_token = ?';

const RENEW = `
  UPDATE webhook_cursors SET lease_until = NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND
  WHERE webhook_id IN (?) AND (webhook_id, lease_token) IN (?) AND lease_until IS NOT NULL`;

/** The right of one run to send for a webhook. Only its holder can record results, so that two runs never mix theirs. */
export interface Lease {
  webhookId: string;
  token: string;
  /** Records written under it so far: a record whose COMMIT got no answer is not counted twice. */
  writes: number;
}

const HELD = `
  SELECT webhook_id FROM webhook_cursors WHERE webhook_id IN (?) AND (webhook_id, lease_token) IN (?) AND lease_until IS NOT NULL`;

/** A webhook, the token of its last lease, and how many records were written under that, as they were read. */
export interface LeaseRequest {
  webhookId: string;
  lastToken: string;
  lastWrites: number;
}

/**
 * Takes leases, in one statement.
 * @returns for each its lease; null when another run holds it, or has held it or recorded since the webhook was read.
 */
export async function takeLeases(sql: Sql, requests: readonly LeaseRequest[]): Promise<(Lease | null)[]> {
  const token = randomBytes(16).toString('base64url');
  const ids = requests.map(({ webhookId }) => webhookId);
  const last = requests.map(({ webhookId, lastToken, lastWrites }) => [webhookId, lastToken, lastWrites]);
  const { affectedRows } = await sql.query<WriteResult>(TAKE, [token, ids, last]);
  const lease = (webhookId: string): Lease => ({ webhookId, token, writes: 0 });
  if (affectedRows === ids.length) return ids.map(lease);
  if (affectedRows === 0) return ids.map(() => null);
  const rows = await sql.query<{ webhook_id: string }[]>(TAKEN, [ids, token]);
  const taken = new Set(rows.map(({ webhook_id }) => webhook_id));
  // Of two runs for the same webhook the first one has it.
  return ids.map((webhookId) => (taken.delete(webhookId) ? lease(webhookId) : null));
}

/**
 * Prolongs leases that are still held. One that was lost stays lost.
 * @returns those that are held.
 */
export async function renewLeases(sql: Sql, leases: readonly Lease[]): Promise<Lease[]> {
  if (leases.length === 0) return [];
  const values = [
    leases.map(({ webhookId }) => webhookId),
    leases.map(({ webhookId, token }) => [webhookId, token]),
  ];
  const { affectedRows } = await sql.query<WriteResult>(RENEW, values);
  if (affectedRows === leases.length) return [...leases];
  const rows = await sql.query<{ webhook_id: string }[]>(HELD, values);
  const held = new Set(rows.map(({ webhook_id }) => webhook_id));
  return leases.filter(({ webhookId }) => held.has(webhookId));
}
