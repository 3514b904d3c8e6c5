import type { Sql } from '../../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../../database/webhook-enums.ts';
import { readWaitingWebhooks } from '../../delivery/waiting-webhooks.ts';
import { MAX_CRASHES } from '../../intake/failed-imports.ts';
import { STUCK_IMPORTS } from '../../intake/stuck-imports.ts';
import { type Circuit, circuitOf } from '../../webhook-record/circuit.ts';
import { pendingOf } from '../../webhook-record/pending.ts';
import { joinSettings, statusOf } from '../../webhook-record/record.ts';

/** Counts what the verdict looks at: webhooks, imports, replays and books. */

/** The open work of all customers together, in figures. */
export interface Figures {
  /** Webhooks by status. `quarantined`: the service has paused them, because their delivery runs kept crashing. */
  webhooks: { active: number; paused: number; quarantined: number; disabled: number };
  /** Active webhooks whose last attempts failed. */
  failing: number;
  /** Circuits of active webhooks. */
  circuits: Record<Circuit, number>;
  /**
   * `failing`: of active webhooks whose last attempt failed. `held`: of webhooks that are paused or disabled, so
   * that nothing is sent. `pulled`: of active feeds, which wait for their readers.
   */
  pending: { healthy: number; failing: number; held: number; pulled: number };
  /** Deliveries of replays that have still to become pending; at least, because a replay that waits may not be counted yet. */
  toCome: number;
  /** When the oldest pending movement of an active webhook was stored; null: nothing is pending. */
  oldestPending: Date | null;
  /** The age in seconds of the oldest movement that was not sent to an active, healthy webhook. 0: there is none. */
  oldestPendingSeconds: number;
  /** Seconds for which the longest failing active webhook has been failing. 0: none fails. */
  longestFailing: number;
  /** A failed import is kept until somebody retries it. */
  imports: { receiving: number; queued: number; running: number; failed: number };
  /** Failed imports that kept crashing their process. Other failed imports have files that cannot be read. */
  importsGivenUp: number;
  /** Imports that failed within the last day, and were not given up. */
  importsFailedLately: number;
  /** Imports that have waited for more than five minutes while no movement of their customers was stored. */
  importsStuck: number;
  /** Seconds since the oldest queued or running import was received. 0: there is none. */
  oldestImport: number;
  /** Active sources whose last runs failed, and others that have brought a file that could not be imported. */
  sources: { failing: number; withWrongFile: number };
  /** Accounts by what is wrong with their statements. */
  statements: { incomplete: number; contradictory: number; late: number };
  /** Conflicts that wait for a decision. */
  openConflicts: number;
}

/**
 * Reads each webhook once: its counters, not its deliveries. A template counts as one webhook, and its deliveries are those of its webhooks.
 * Indexes: the primary keys.
 */
const COUNT_WEBHOOKS = `
  SELECT IF(w.status = 'paused' AND w.status_reason IS NOT NULL, 'quarantined', ${statusOf('w', 's')}) AS status_now,
    ${circuitOf('h')} AS circuit, w.delivery,
    h.failing_since IS NOT NULL AS failing, SUM(w.template_id IS NULL OR w.status = 'paused') AS webhooks,
    SUM(IF(w.is_template = 1, 0, ${pendingOf('b', 'c')})) AS pending,
    TIMESTAMPDIFF(SECOND, MIN(h.failing_since), NOW(6)) AS failing_for
  FROM webhooks w ${joinSettings('w', 's')} JOIN webhook_cursors h ON h.webhook_id = s.id
    JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.status <> 'deleted' AND s.status <> 'deleted' GROUP BY status_now, circuit, w.delivery, failing`;

/** MySQL gives computed integers as strings, MariaDB as numbers. */
interface WebhookGroup {
  status_now: keyof Figures['webhooks'];
  circuit: Circuit;
  delivery: 'push' | 'pull';
  failing: string | number;
  webhooks: string | number;
  pending: string | number;
  failing_for: string | number | null;
}

/** Reads the whole table, which has a row for each replay of the last months. */
const COUNT_REPLAYS_TO_COME = `
  SELECT COALESCE(SUM(p.to_come), 0) AS number FROM replays p JOIN webhooks w ON w.id = p.webhook_id AND w.status <> 'deleted'
  WHERE p.finished_at IS NULL AND p.cancelled_at IS NULL`;

/** Index: imports_status. */
const COUNT_IMPORTS = `
  SELECT status, COUNT(*) AS number, COALESCE(SUM(crash_count >= ${MAX_CRASHES}), 0) AS crashing,
    COALESCE(SUM(crash_count < ${MAX_CRASHES} AND finished_at > NOW(6) - INTERVAL 1 DAY), 0) AS lately
  FROM imports FORCE INDEX (imports_status) WHERE status IN ('receiving', 'queued', 'running', 'failed') GROUP BY status`;

const COUNT_STUCK_IMPORTS = `SELECT COUNT(*) AS number FROM ${STUCK_IMPORTS}`;

/** The import with the lowest id was received first. Index: imports_status, one entry for each status. */
const FIND_OLDEST_IMPORT = `
  SELECT TIMESTAMPDIFF(MICROSECOND, MIN(i.received_at), NOW(6)) / 1000000 AS seconds
  FROM (${['queued', 'running']
    .map(
      (status) =>
        `(SELECT received_at FROM imports FORCE INDEX (imports_status) WHERE status = '${status}' ORDER BY id LIMIT 1)`,
    )
    .join(' UNION ALL ')}) i`;

/** Indexes: statement_checks_result, statement_checks_late and movement_conflicts_status, which cover the query; sources_status. */
const BOOKS = `
  SELECT
    (SELECT COUNT(*) FROM statement_checks WHERE completeness = 'incomplete') AS incomplete,
    (SELECT COUNT(*) FROM statement_checks WHERE completeness = 'contradictory') AS contradictory,
    (SELECT COUNT(*) FROM statement_checks WHERE late_since IS NOT NULL) AS late,
    (SELECT COUNT(*) FROM movement_conflicts WHERE status = 'open') AS conflicts,
    (SELECT COUNT(*) FROM sources FORCE INDEX (sources_status) WHERE status = 'active' AND error IS NOT NULL
      AND consecutive_failures > 0) AS sources_failing,
    (SELECT COUNT(*) FROM sources FORCE INDEX (sources_status) WHERE status = 'active' AND error IS NOT NULL
      AND consecutive_failures = 0) AS sources_with_wrong_file`;

/**
 * For each active webhook with pending deliveries, the oldest movement, or withdrawal of one, that waits for a retry. Indexes: the primary keys, of which older
 * dead letters are passed over. Ordered by the whole key, because MySQL otherwise sorts all retries of the webhook.
 */
const FIND_OLDEST_RETRY = `
  SELECT MIN(COALESCE(t.date_readed, x.withdrawn_at)) AS oldest FROM (
    SELECT (SELECT r.transaction_id FROM retries r FORCE INDEX (PRIMARY)
      WHERE r.webhook_id = w.id AND r.due_at IS NOT NULL ORDER BY r.webhook_id, r.transaction_id LIMIT 1) AS id
    FROM webhooks w ${joinSettings('w', 's')} JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    WHERE ${statusOf('w', 's')} = 'active' AND w.is_template = 0 AND w.event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} AND ${pendingOf('b', 'c')} > 0) p
  LEFT JOIN transactions t ON t.id = p.id LEFT JOIN withdrawn_transactions x ON x.event_id = p.id`;

/** Reads the figures from counters and indexes. Reads no single deliveries. */
export async function readFigures(sql: Sql): Promise<Figures> {
  const one = async (statement: string): Promise<Record<string, string | number | null>> =>
    (await sql.query<Record<string, string | number | null>[]>(statement))[0] ?? {};
  const [groups, imports, toCome, stuck, oldestImport, books, healthy, failing, [retry]] = await Promise.all([
    sql.query<WebhookGroup[]>(COUNT_WEBHOOKS),
    sql.query<{ status: keyof Figures['imports']; number: string; crashing: string; lately: string }[]>(
      COUNT_IMPORTS,
    ),
    one(COUNT_REPLAYS_TO_COME),
    one(COUNT_STUCK_IMPORTS),
    one(FIND_OLDEST_IMPORT),
    one(BOOKS),
    readWaitingWebhooks(sql, { failing: false }),
    readWaitingWebhooks(sql, { failing: true }),
    sql.query<{ oldest: Date | null }[]>(FIND_OLDEST_RETRY),
  ]);
  const failed = imports.find(({ status }) => status === 'failed');
  const pendingSince = [healthy[0]?.since, failing[0]?.since, retry?.oldest].filter((it) => it != null);
  const figures: Figures = {
    webhooks: { active: 0, paused: 0, quarantined: 0, disabled: 0 },
    failing: 0,
    circuits: { closed: 0, half_open: 0, open: 0 },
    pending: { healthy: 0, failing: 0, held: 0, pulled: 0 },
    toCome: Number(toCome.number),
    oldestPending:
      pendingSince.length === 0 ? null : new Date(Math.min(...pendingSince.map((it) => it.getTime()))),
    oldestPendingSeconds: Math.max(0, healthy[0]?.seconds ?? 0),
    longestFailing: 0,
    imports: { receiving: 0, queued: 0, running: 0, failed: 0 },
    importsGivenUp: Number(failed?.crashing ?? 0),
    importsFailedLately: Number(failed?.lately ?? 0),
    importsStuck: Number(stuck.number),
    // Never negative, even after the clock was set back.
    oldestImport: Math.max(0, Number(oldestImport.seconds ?? 0)),
    sources: {
      failing: Number(books.sources_failing),
      withWrongFile: Number(books.sources_with_wrong_file),
    },
    statements: {
      incomplete: Number(books.incomplete),
      contradictory: Number(books.contradictory),
      late: Number(books.late),
    },
    openConflicts: Number(books.conflicts),
  };
  for (const it of groups) {
    const isActive = it.status_now === 'active';
    const isFailing = Number(it.failing) === 1;
    figures.webhooks[it.status_now] += Number(it.webhooks);
    const isPulled = it.delivery === 'pull';
    const kind = !isActive ? 'held' : isPulled ? 'pulled' : isFailing ? 'failing' : 'healthy';
    figures.pending[kind] += Number(it.pending);
    // A feed has no endpoint.
    if (!isActive || isPulled) continue;
    if (isFailing) figures.failing += Number(it.webhooks);
    figures.circuits[it.circuit] += Number(it.webhooks);
    figures.longestFailing = Math.max(figures.longestFailing, Number(it.failing_for ?? 0));
  }
  for (const it of imports) figures.imports[it.status] = Number(it.number);
  return figures;
}
