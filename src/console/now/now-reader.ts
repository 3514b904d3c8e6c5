import { mysqlProblem } from '../../database/errors.ts';
import { type Health, within } from '../../database/health.ts';
import { readHostProblems } from '../../database/lead-to-primary.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import { READ_LIMIT, readVerdict, type Verdict } from '../../verdict/verdict.ts';
import { readRecentAttempts, summarizeAttempts } from '../deliveries/newest-attempts.ts';

/** Reads the figures of the first page of the console, and compares them with the last reading. */

/** One point of the charts. null: not known. */
export interface Sample extends Record<keyof typeof NOTHING_KNOWN, number | null> {
  /** Seconds since 1970. */
  at: number;
}

/** The installation at one moment. */
export interface Now {
  health: Health;
  verdict: Verdict;
  sample: Sample;
}

/** Latencies are taken from the last minute's attempts of failing webhooks and of the webhooks that were sent the most. */
const SAMPLED_WEBHOOKS = 20;
const SAMPLED_ATTEMPTS = 100;
const SAMPLED_SECONDS = 60;

/** A rate over a longer time would hide what happens now. Milliseconds. */
const LONGEST_RATE = 30_000;

interface Counters {
  at: number;
  finished: Map<string, number>;
  newestImport: number;
}

/** One row per webhook, without templates, which have the sums of their webhooks. Index: the primary keys. */
const READ_FINISHED_COUNTS = `
  SELECT webhook_id, delivered_count + failed_count AS finished FROM webhook_cursors
  WHERE webhook_id NOT IN (SELECT t.webhook_id FROM webhook_templates t)`;

/** One entry of the primary key. */
const FIND_NEWEST_IMPORT = 'SELECT MAX(id) AS id FROM imports';

/**
 * Creates a function that reads the installation. Rates are differences from the previous call, so the first call has none.
 * If something is wrong with MySQL or Redis, the result says so.
 */
export function createNowReader({ database, health }: Pick<Runtime, 'database' | 'health'>) {
  let previous: Counters | null = null;
  return async function readNow(): Promise<Now> {
    const at = new Date();
    const seen = await health();
    const servers = { ...seen, hostProblems: readHostProblems(database) };
    const unreadable = async (mysql: string): Promise<Now> => ({
      health: { ...seen, mysql },
      verdict: await readVerdict(null, { ...servers, mysql }),
      sample: { ...NOTHING_KNOWN, at: at.getTime() / 1_000 },
    });
    if (seen.mysqlRoundTrip === null) return unreadable(seen.mysql);
    const read = async (): Promise<Now> => {
      const verdict = await readVerdict(database, servers);
      if (verdict.work === null) return unreadable(verdict.servers.mysql);
      const counters = await readCounters(database);
      const sample = await readSample(database, { at, verdict, counters, previous });
      previous = counters;
      return { health: seen, verdict, sample };
    };
    try {
      return (
        (await within<Now | null>(read(), READ_LIMIT, () => null)) ??
        (await unreadable(seen.mysql === 'ok' ? 'does not answer' : seen.mysql))
      );
    } catch (error) {
      const problem = mysqlProblem(error);
      if (problem === null) throw error;
      return unreadable(seen.mysql === 'ok' ? problem : seen.mysql);
    }
  };
}

async function readCounters(sql: Sql): Promise<Counters> {
  const at = performance.now();
  const [finished, [newest]] = await Promise.all([
    sql.query<{ webhook_id: string; finished: string }[]>(READ_FINISHED_COUNTS),
    sql.query<{ id: string | null }[]>(FIND_NEWEST_IMPORT),
  ]);
  return {
    at,
    finished: new Map(finished.map((row) => [row.webhook_id, Number(row.finished)])),
    newestImport: Number(newest?.id ?? 0),
  };
}

async function readSample(
  sql: Sql,
  {
    at,
    verdict,
    counters,
    previous,
  }: { at: Date; verdict: Verdict; counters: Counters; previous: Counters | null },
): Promise<Sample> {
  const rates = previous === null ? null : compare(counters, previous);
  const failing = verdict.troubles.flatMap(({ subject }) =>
    subject?.type === 'webhook' ? [subject.id] : [],
  );
  const figures = verdict.work?.figures;
  const webhooks = [...new Set([...(rates?.busiest ?? []), ...failing])];
  const recent = await readRecentAttempts(sql, webhooks, SAMPLED_ATTEMPTS);
  const since = at.getTime() - SAMPLED_SECONDS * 1_000;
  const { successShare, p50, p95, p99 } = summarizeAttempts(
    recent.filter(({ started_at }) => started_at.getTime() >= since),
  );
  return {
    at: at.getTime() / 1_000,
    pending: figures === undefined ? null : figures.pending.healthy + figures.pending.failing,
    oldestSeconds: Math.max(0, (at.getTime() - (figures?.oldestPending ?? at).getTime()) / 1_000),
    deliveriesPerSecond: rates?.deliveriesPerSecond ?? null,
    importsPerSecond: rates?.importsPerSecond ?? null,
    successShare,
    p50,
    p95,
    p99,
  };
}

const NOTHING_KNOWN = {
  pending: null,
  oldestSeconds: null,
  deliveriesPerSecond: null,
  importsPerSecond: null,
  successShare: null,
  p50: null,
  p95: null,
  p99: null,
};

function compare(counters: Counters, previous: Counters) {
  const elapsed = counters.at - previous.at;
  if (elapsed > LONGEST_RATE || elapsed <= 0) return null;
  const perSecond = (difference: number) => Math.max(0, (difference * 1_000) / elapsed);
  const finished = [...counters.finished].map(([id, count]) => ({
    id,
    count: count - (previous.finished.get(id) ?? count),
  }));
  return {
    deliveriesPerSecond: perSecond(finished.reduce((sum, { count }) => sum + count, 0)),
    importsPerSecond: perSecond(counters.newestImport - previous.newestImport),
    busiest: finished
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count)
      .slice(0, SAMPLED_WEBHOOKS)
      .map(({ id }) => id),
  };
}
