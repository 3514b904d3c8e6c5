import type { Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { readWaitingWebhooks, type WaitingWebhook } from '../delivery/reconcile.ts';
import { circuitOpenUntil } from '../delivery/webhook-state.ts';
import { MAX_CRASHES, STUCK_IMPORTS } from '../intake/imports.ts';
import { type SourceSummary, SUMMARY_COLUMNS } from '../sources/find-source.ts';
import { PENDING } from '../webhooks/webhook-view.ts';

/** The open work of all customers together. */
export interface Totals {
  /** Pending deliveries of active webhooks. */
  pending: number;
  /** Pending deliveries of paused and disabled webhooks. */
  held: number;
  /** Deliveries of replays that have still to become pending; at least, because a replay that waits may not be counted yet. */
  toCome: number;
  circuitsOpen: number;
  /** Active webhooks whose last attempts failed. */
  failing: number;
  /** Webhooks that are failing, paused or disabled. */
  needingAttention: number;
  /** Webhooks that the service has paused, because their delivery runs kept crashing. */
  quarantined: number;
  imports: { queued: number; running: number; failed: number };
  /** Failed imports that kept crashing their process. Other failed imports have files that cannot be read, which their senders must correct. */
  importsGivenUp: number;
  /** Imports that failed within the last day, and imports that were given up. */
  importsFailedLately: number;
  /** Imports that have waited for more than five minutes while no movement of their customers was stored. */
  importsStuck: number;
}

/** Reads the table of webhooks once. A webhook that its owner has paused has no status_reason. */
const WEBHOOKS = `
  SELECT COALESCE(SUM(IF(w.status = 'active', ${PENDING}, 0)), 0) AS pending,
    COALESCE(SUM(IF(w.status <> 'active', ${PENDING}, 0)), 0) AS held,
    COALESCE(SUM(w.status = 'active' AND ${circuitOpenUntil('c')} IS NOT NULL), 0) AS circuits_open,
    COALESCE(SUM(w.status = 'active' AND c.failing_since IS NOT NULL), 0) AS failing,
    COALESCE(SUM(w.status <> 'active' OR c.failing_since IS NOT NULL), 0) AS needing_attention,
    COALESCE(SUM(w.status = 'paused' AND w.status_reason IS NOT NULL), 0) AS quarantined
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.status <> 'deleted'`;

/** Reads the whole table, which has a row for each replay of the last months. */
const TO_COME = `
  SELECT COALESCE(SUM(p.to_come), 0) AS number FROM replays p JOIN webhooks w ON w.id = p.webhook_id AND w.status <> 'deleted'
  WHERE p.finished_at IS NULL AND p.cancelled_at IS NULL`;

/** Index: imports_status. */
const IMPORTS = `
  SELECT status, COUNT(*) AS number, COALESCE(SUM(crash_count >= ${MAX_CRASHES}), 0) AS crashing,
    COALESCE(SUM(crash_count >= ${MAX_CRASHES} OR finished_at > NOW(6) - INTERVAL 1 DAY), 0) AS lately
  FROM imports WHERE status IN ('queued', 'running', 'failed') GROUP BY status`;

const STUCK = `SELECT COUNT(*) AS number FROM ${STUCK_IMPORTS}`;

/** Reads the totals. Uses counters and reads no single deliveries. */
export async function readTotals(sql: Sql): Promise<Totals> {
  const [webhooks] = await sql.query<Record<string, string | null>[]>(WEBHOOKS);
  const imports =
    await sql.query<{ status: string; number: string; crashing: string; lately: string }[]>(IMPORTS);
  const [toCome] = await sql.query<{ number: string }[]>(TO_COME);
  const [stuck] = await sql.query<{ number: string }[]>(STUCK);
  const of = (status: string) => imports.find((it) => it.status === status);
  const count = (status: string) => Number(of(status)?.number ?? 0);
  return {
    pending: Number(webhooks?.pending),
    held: Number(webhooks?.held),
    toCome: Number(toCome?.number),
    circuitsOpen: Number(webhooks?.circuits_open),
    failing: Number(webhooks?.failing),
    needingAttention: Number(webhooks?.needing_attention),
    quarantined: Number(webhooks?.quarantined),
    imports: { queued: count('queued'), running: count('running'), failed: count('failed') },
    importsGivenUp: Number(of('failed')?.crashing ?? 0),
    importsFailedLately: Number(of('failed')?.lately ?? 0),
    importsStuck: Number(stuck?.number ?? 0),
  };
}

/**
 * For each active webhook with pending deliveries, the oldest movement that waits for a retry. Indexes: retries_due, and the primary
 * keys.
 */
const OLDEST_RETRY = `
  SELECT MIN(t.date_readed) AS oldest FROM (
    SELECT (SELECT MIN(r.transaction_id) FROM retries r FORCE INDEX (retries_due)
      WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL) AS id
    FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    WHERE w.status = 'active' AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} AND ${PENDING} > 0) p
  JOIN transactions t ON t.id = p.id`;

/**
 * When the oldest pending movement of an active webhook was stored; null when nothing is pending. Ignores movements that a webhook matched
 * only before its event or account was changed.
 */
export async function readOldestPending(sql: Sql): Promise<Date | null> {
  const [[healthy], [failing], [retry]] = await Promise.all([
    readWaitingWebhooks(sql, { failing: false }),
    readWaitingWebhooks(sql, { failing: true }),
    sql.query<{ oldest: Date | null }[]>(OLDEST_RETRY),
  ]);
  const moments = [healthy?.since, failing?.since, retry?.oldest].filter((it) => it != null);
  return moments.length === 0 ? null : new Date(Math.min(...moments.map((it) => it.getTime())));
}

/** The most webhooks, and the most imports, that the console shows. */
const SHOWN = 50;

export interface WebhookNeedingAttention {
  id: string;
  title: string;
  customer: string;
  status: string;
  status_reason: string | null;
  consecutive_failures: number;
  last_error: string | null;
  /** Seconds for which the circuit stays open; null when it is not open. */
  circuit_seconds: string | null;
  failing_since: Date | null;
  /** Since when a movement has waited although the endpoint answers. null: the webhook is not behind. */
  behind_since: Date | null;
  pending: string;
}

const WEBHOOKS_NEEDING_ATTENTION = `
  SELECT w.id, w.title, u.name AS customer, w.status, w.status_reason, c.consecutive_failures, c.last_error, c.failing_since,
    TIMESTAMPDIFF(SECOND, NOW(6), ${circuitOpenUntil('c')}) AS circuit_seconds,
    ${PENDING} AS pending
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    JOIN customers u ON u.id = w.customer_id
  WHERE w.status <> 'deleted' AND (w.status <> 'active' OR c.failing_since IS NOT NULL OR w.id IN (?))
  ORDER BY c.failing_since IS NULL, c.failing_since, w.id LIMIT ${SHOWN}`;

/**
 * Reads failing, paused and disabled webhooks of all customers, the longest failing first, and webhooks that are behind.
 * @param behind as `readWebhooksBehind` found them.
 */
export async function readWebhooksNeedingAttention(
  sql: Sql,
  behind: readonly WaitingWebhook[],
): Promise<WebhookNeedingAttention[]> {
  const since = new Map(behind.map((it) => [it.id, it.since]));
  // No webhook has the id 0, so the list is never empty.
  const rows = await sql.query<WebhookNeedingAttention[]>(WEBHOOKS_NEEDING_ATTENTION, [
    ['0', ...behind.slice(0, SHOWN).map(({ id }) => id)],
  ]);
  return rows.map((row) => ({ ...row, behind_since: since.get(row.id) ?? null }));
}

export interface UnfinishedImport {
  id: string;
  customer: string;
  status: string;
  checkpoint: number;
  error: string | null;
  received_at: Date;
}

const UNFINISHED_IMPORTS = `
  SELECT i.id, c.name AS customer, i.status, i.checkpoint, i.error, i.received_at
  FROM imports i JOIN customers c ON c.id = i.customer_id
  WHERE i.status IN ('queued', 'running', 'failed') ORDER BY i.id DESC LIMIT ${SHOWN}`;

/** Reads queued, running and failed imports of all customers, newest first. */
export const readUnfinishedImports = (sql: Sql): Promise<UnfinishedImport[]> => sql.query(UNFINISHED_IMPORTS);

/** Reads the sources of all customers, as the console shows them. */

/** Reads only sources in trouble. Index: sources_status. */
const IN_TROUBLE = `
  SELECT ${SUMMARY_COLUMNS} FROM sources s FORCE INDEX (sources_status) STRAIGHT_JOIN customers u ON u.id = s.customer_id
  WHERE s.status = 'active' AND s.error IS NOT NULL ORDER BY s.consecutive_failures DESC, s.id LIMIT ?`;

const COUNT_TROUBLE = `
  SELECT COUNT(*) AS all_of_them, COALESCE(SUM(consecutive_failures > 0), 0) AS failing
  FROM sources FORCE INDEX (sources_status) WHERE status = 'active' AND error IS NOT NULL`;

/** Active sources with an error. Sources whose runs fail come first, the most failures on top. Sources with a wrong file follow. */
export const findSourcesInTrouble = (sql: Sql, most: number): Promise<SourceSummary[]> =>
  sql.query(IN_TROUBLE, [most]);

export interface SourcesInTrouble {
  /** Sources whose last runs failed. */
  failing: number;
  /** Sources that were reached, but had a file that could not be imported completely. */
  withWrongFile: number;
}

export async function countSourcesInTrouble(sql: Sql): Promise<SourcesInTrouble> {
  const [row] = await sql.query<{ all_of_them: string; failing: string }[]>(COUNT_TROUBLE);
  const failing = Number(row?.failing);
  return { failing, withWrongFile: Number(row?.all_of_them) - failing };
}

/** Reads the runs and files of one source, as the console shows them. */

/** Index of both parts: source_runs_page. */
const FAILING_SINCE = `
  SELECT r.started_at FROM source_runs r FORCE INDEX (source_runs_page)
  WHERE r.source_id = ? AND r.status = 'failed' AND r.id > COALESCE(
    (SELECT MAX(d.id) FROM source_runs d FORCE INDEX (source_runs_page) WHERE d.source_id = ? AND d.status = 'done'), 0)
  ORDER BY r.id LIMIT 1`;

/** When the first failed run after the last `done` run began. null: no run has failed since. */
export async function readFailingSince(sql: Sql, sourceId: string): Promise<Date | null> {
  const [run] = await sql.query<{ started_at: Date }[]>(FAILING_SINCE, [sourceId, sourceId]);
  return run?.started_at ?? null;
}

export interface WrongFile {
  name: string;
  run_id: string;
  /** null: the file was refused without an import. */
  import_id: string | null;
  created_at: Date;
}

/** Index: source_files_outcome. */
const WRONG_FILES = `
  SELECT name, run_id, import_id, created_at FROM source_files FORCE INDEX (source_files_outcome)
  WHERE outcome = 'failed' AND source_id = ? ORDER BY id DESC LIMIT ?`;

/** The newest files of a source that could not be imported completely. */
export const readWrongFiles = (sql: Sql, sourceId: string, most: number): Promise<WrongFile[]> =>
  sql.query(WRONG_FILES, [sourceId, most]);
