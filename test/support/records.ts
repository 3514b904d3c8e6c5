import type { LeasedRecord } from '../../src/delivery/engine/ports.ts';
import type { AttemptResult, RunRecord } from '../../src/delivery/run/types.ts';
import { type Lease, takeLeases } from '../../src/webhook-record/lease.ts';
import type { TestService } from './service.ts';

/** Takes the leases of webhooks, whichever run had them before. @throws when one is held. */
export async function leaseAll({ runtime }: TestService, webhookIds: readonly string[]): Promise<Lease[]> {
  const rows = await runtime.database.query<
    { webhook_id: string; lease_token: string; lease_writes: number }[]
  >('SELECT webhook_id, lease_token, lease_writes FROM webhook_cursors WHERE webhook_id IN (?)', [
    webhookIds,
  ]);
  const found = new Map(rows.map((row) => [row.webhook_id, row]));
  const leases = await takeLeases(
    runtime.database,
    webhookIds.map((webhookId) => {
      const { lease_token = '', lease_writes = 0 } = found.get(webhookId) ?? {};
      return { webhookId, revision: 1, lastToken: lease_token, lastWrites: lease_writes };
    }),
  );
  return leases.map((lease) => {
    if (lease === null) throw new Error('a lease is held');
    return lease;
  });
}

/** One attempt that was answered 204. */
export const success = (subjectId: number, fields: Partial<AttemptResult> = {}): AttemptResult => ({
  subjectId,
  source: (fields.number ?? 1) > 1 ? 'retries' : 'log',
  number: 1,
  status: 'delivered',
  outcome: 'delivered',
  statusCode: 204,
  startedAt: Date.UTC(2026, 0, 15, 9),
  durationMs: 7,
  posts: 1,
  storedAt: Date.UTC(2026, 0, 15, 8, 59, 58),
  error: null,
  batchFirst: null,
  response: '',
  failures: 0,
  retryIn: null,
  logged: { bytes: 0, traceId: undefined, isFirstFailure: false, circuit: undefined },
  ...fields,
});

/** One attempt that was answered 500, to be retried in an hour. */
export const failure = (transactionId: number, fields: Partial<AttemptResult> = {}): AttemptResult =>
  success(transactionId, {
    status: 'pending',
    outcome: 'failed',
    statusCode: 500,
    failures: 1,
    retryIn: 3_600_000,
    response: 'no',
    ...fields,
  });

/** The record of a run whose cursor is at the newest of these results. */
export function recordOf(
  lease: Lease,
  results: readonly AttemptResult[],
  fields: Partial<RunRecord> = {},
): LeasedRecord {
  const through = Math.max(0, ...results.map(({ subjectId }) => subjectId));
  return {
    lease,
    customerId: '1',
    settings: { id: lease.webhookId, revision: fields.revision ?? 1 },
    now: 0,
    record: {
      results,
      rejectedBatches: [],
      cursor: { sentThrough: through, highestRecordedId: through },
      health: null,
      healthChanges: [],
      rateWait: null,
      lastError: null,
      disable: null,
      revision: 1,
      release: false,
      ...fields,
    },
  };
}
