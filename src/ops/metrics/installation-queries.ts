import type { Sql } from '../../database/transaction.ts';
import { readWaitingWebhooks } from '../../delivering/waiting-webhooks.ts';
import { PENDING } from '../../webhooks/pending.ts';

/** What is to be done in all customers together, as the metrics show it. No query reads single deliveries. */
export interface InstallationState {
  webhooks: Record<WebhookStatus, number>;
  /** Circuits of active webhooks. */
  circuits: Record<CircuitState, number>;
  pending: Record<PendingState, number>;
  /** Seconds since the oldest movement was stored that an active, healthy webhook has not been sent; 0: there is none. */
  oldestPending: number;
  /** Seconds since the first of the failures of the active webhook that has failed for the longest time; 0: none fails. */
  longestFailing: number;
  imports: Record<UnfinishedStatus, number>;
  /** Seconds since the oldest import was received that is queued or running; 0: there is none. */
  oldestImport: number;
}

/** `quarantined`: the service itself has paused the webhook. `paused`: its owner has. */
type WebhookStatus = 'active' | 'paused' | 'quarantined' | 'disabled';
type CircuitState = 'closed' | 'half_open' | 'open';
/** `failing`: of active webhooks whose last attempt failed. `held`: of webhooks that are paused or disabled, so that nothing is sent. */
type PendingState = 'healthy' | 'failing' | 'held';
/** A failed import is kept until somebody retries it. */
type UnfinishedStatus = 'receiving' | 'queued' | 'running' | 'failed';

/** Reads each webhook once: its counters, not its deliveries. Indexes: the primary keys. */
const WEBHOOKS = `
  SELECT IF(w.status = 'paused' AND w.status_reason IS NOT NULL, 'quarantined', w.status) AS status_now,
    IF(c.circuit_open_until > NOW(6), 'open', IF(c.recovery_successes IS NULL, 'closed', 'half_open')) AS circuit,
    c.failing_since IS NOT NULL AS failing, COUNT(*) AS webhooks, SUM(${PENDING}) AS pending,
    TIMESTAMPDIFF(SECOND, MIN(c.failing_since), NOW(6)) AS failing_for
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.status <> 'deleted' GROUP BY status_now, circuit, failing`;

/** Index: imports_status, which has all that is read. */
const IMPORTS = `
  SELECT status, COUNT(*) AS imports FROM imports FORCE INDEX (imports_status)
  WHERE status IN ('receiving', 'queued', 'running', 'failed') GROUP BY status`;

/** The import with the lowest id was received first. Index: imports_status, one entry for each status. */
const OLDEST_IMPORT = `
  SELECT TIMESTAMPDIFF(MICROSECOND, MIN(i.received_at), NOW(6)) / 1000000 AS seconds
  FROM (${['queued', 'running']
    .map(
      (status) =>
        `(SELECT received_at FROM imports FORCE INDEX (imports_status) WHERE status = '${status}' ORDER BY id LIMIT 1)`,
    )
    .join(' UNION ALL ')}) i`;

/** MySQL gives computed integers as strings, MariaDB as numbers. */
interface WebhookGroup {
  status_now: WebhookStatus;
  circuit: CircuitState;
  failing: string | number;
  webhooks: string | number;
  pending: string | number;
  failing_for: string | number | null;
}

/** Reads the state of the installation, in five statements. */
export async function readInstallationState(sql: Sql): Promise<InstallationState> {
  const [longestWaiting] = await readWaitingWebhooks(sql, { failing: false });
  const state: InstallationState = {
    webhooks: { active: 0, paused: 0, quarantined: 0, disabled: 0 },
    circuits: { closed: 0, half_open: 0, open: 0 },
    pending: { healthy: 0, failing: 0, held: 0 },
    oldestPending: Math.max(0, longestWaiting?.seconds ?? 0),
    longestFailing: 0,
    imports: { receiving: 0, queued: 0, running: 0, failed: 0 },
    oldestImport: await readSeconds(sql, OLDEST_IMPORT),
  };
  for (const it of await sql.query<WebhookGroup[]>(WEBHOOKS)) {
    const isActive = it.status_now === 'active';
    const isFailing = Number(it.failing) === 1;
    state.webhooks[it.status_now] += Number(it.webhooks);
    state.pending[isActive ? (isFailing ? 'failing' : 'healthy') : 'held'] += Number(it.pending);
    if (!isActive) continue;
    state.circuits[it.circuit] += Number(it.webhooks);
    state.longestFailing = Math.max(state.longestFailing, Number(it.failing_for ?? 0));
  }
  for (const { status, imports } of await sql.query<{ status: UnfinishedStatus; imports: string | number }[]>(
    IMPORTS,
  )) {
    state.imports[status] = Number(imports);
  }
  return state;
}

/** A clock that was set back makes no negative ages. */
async function readSeconds(sql: Sql, statement: string): Promise<number> {
  const [row] = await sql.query<{ seconds: string | null }[]>(statement);
  return Math.max(0, Number(row?.seconds ?? 0));
}
