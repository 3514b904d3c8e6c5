import type { DataSource } from 'typeorm';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { readSubject, recordEvent } from '../delivery/operational-event.ts';
import { readWaitingWebhooks } from '../delivery/waiting-webhooks.ts';
import { countsOf } from '../webhook-record/pending.ts';
import { type Change, type Look, look, type Standing, UNREMARKABLE } from '../webhook-record/standing.ts';

/** Looks at webhooks regularly, keeps their standings, and reports what has changed as operational events. */

/** More failing webhooks are not looked at: then their endpoints are not the cause. */
const MOST = 10_000;

/** Active webhooks whose last attempts failed, the longest failing first. Index: webhook_cursors_failing. */
export const FAILING_WEBHOOKS = `
  SELECT c.webhook_id AS id FROM webhook_cursors c FORCE INDEX (webhook_cursors_failing)
    STRAIGHT_JOIN webhooks w ON w.id = c.webhook_id AND w.status = 'active'
  WHERE c.failing_since IS NOT NULL ORDER BY c.failing_since LIMIT ?`;

/** Reads the whole table, which has a row only for webhooks that have failed or been behind within the last hour. */
const READ_STANDINGS = 'SELECT * FROM webhook_standings';

/** Indexes: the primary keys. */
const READ_COUNTERS = `
  SELECT w.id, w.customer_id, ${countsOf('b', 'c')}, NOW(6) AS now
  FROM webhooks w JOIN webhook_backlogs b ON b.webhook_id = w.id JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.id IN (?) AND w.status = 'active'`;

const DELETE_STANDINGS = 'DELETE FROM webhook_standings WHERE webhook_id IN (?)';

const STORE_STANDINGS = `
  REPLACE INTO webhook_standings (webhook_id, customer_id, failing, changed_at, recovered_1, recovered_2, recovered_3, flapping_since, behind_since,
    sampled_at, sampled_matched, sampled_finished, next_at, next_matched, next_finished) VALUES ?`;

export interface StandingRow {
  webhook_id: string;
  failing: number;
  changed_at: Date | null;
  recovered_1: Date | null;
  recovered_2: Date | null;
  recovered_3: Date | null;
  flapping_since: Date | null;
  behind_since: Date | null;
  sampled_at: Date | null;
  sampled_matched: string | null;
  sampled_finished: string | null;
  next_at: Date | null;
  next_matched: string | null;
  next_finished: string | null;
}

const sampleOf = (at: Date | null, matched: string | null, finished: string | null) =>
  at === null ? null : { at, matched: Number(matched), finished: Number(finished) };

export const toStanding = (row: StandingRow): Standing => ({
  failing: row.failing === 1,
  changedAt: row.changed_at,
  recoveries: [row.recovered_1, row.recovered_2, row.recovered_3].filter((it) => it !== null),
  flappingSince: row.flapping_since,
  behindSince: row.behind_since,
  sampled: sampleOf(row.sampled_at, row.sampled_matched, row.sampled_finished),
  sampledNext: sampleOf(row.next_at, row.next_matched, row.next_finished),
});

const toValues = ({ id, customer_id }: Counters, it: Standing): unknown[] => [
  ...[id, customer_id, it.failing, it.changedAt],
  ...[0, 1, 2].map((index) => it.recoveries[index] ?? null),
  ...[it.flappingSince, it.behindSince],
  ...[it.sampled, it.sampledNext].flatMap((sample) => [
    sample?.at ?? null,
    sample?.matched ?? null,
    sample?.finished ?? null,
  ]),
];

interface Counters {
  id: string;
  customer_id: string;
  matched: string;
  finished: string;
  now: Date;
}

/** Looks at all webhooks that fail or are behind, and at those that have done so within the last hour. */
export async function watchWebhooks(database: DataSource): Promise<void> {
  const [failing, waiting, rows] = await Promise.all([
    database.query<{ id: string }[]>(FAILING_WEBHOOKS, [MOST]),
    readWaitingWebhooks(database, { failing: false }),
    database.query<StandingRow[]>(READ_STANDINGS),
  ]);
  const isFailing = new Set(failing.map(({ id }) => id));
  const waits = new Map(waiting.map(({ id, seconds }) => [id, seconds]));
  const standings = new Map(rows.map((row) => [row.webhook_id, toStanding(row)]));
  const ids = [...new Set([...isFailing, ...waits.keys(), ...standings.keys()])];
  if (ids.length === 0) return;
  const counters = await database.query<Counters[]>(READ_COUNTERS, [ids]);
  const active = new Set(counters.map(({ id }) => id));
  const forgotten = [...standings.keys()].filter((id) => !active.has(id));
  const kept: unknown[][] = [];
  for (const it of counters) {
    const before = standings.get(it.id);
    const seen: Look = {
      now: it.now,
      failing: isFailing.has(it.id),
      waiting: waits.get(it.id) ?? null,
      matched: Number(it.matched),
      finished: Number(it.finished),
    };
    const { standing, changes } = look(before ?? UNREMARKABLE, seen);
    if (standing === null) {
      if (before !== undefined) forgotten.push(it.id);
    } else if (changes.length === 0 && JSON.stringify(standing) !== JSON.stringify(before)) {
      kept.push(toValues(it, standing));
    }
    if (changes.length > 0)
      await inTransaction(database, async (sql) => {
        if (standing === null) await sql.query(DELETE_STANDINGS, [[it.id]]);
        else await sql.query(STORE_STANDINGS, [[toValues(it, standing)]]);
        for (const change of changes) await report(sql, change, it, seen, standing ?? before ?? UNREMARKABLE);
      });
  }
  if (kept.length > 0) await database.query(STORE_STANDINGS, [kept]);
  if (forgotten.length > 0) await database.query(DELETE_STANDINGS, [forgotten]);
}

async function report(
  sql: Sql,
  type: Change,
  { id, customer_id: customerId, matched, finished }: Counters,
  { now, waiting }: Look,
  standing: Standing,
): Promise<void> {
  const isAboutPace = type === 'webhook.behind' || type === 'webhook.caught_up';
  await recordEvent(sql, {
    type,
    customerId,
    webhookId: id,
    data: {
      customer_id: Number(customerId),
      webhook: await readSubject(sql, id),
      ...(isAboutPace
        ? {
            pending: Math.max(0, Number(matched) - Number(finished)),
            waiting_since: waiting === null ? null : new Date(now.getTime() - waiting * 1_000).toISOString(),
          }
        : { recoveries: standing.recoveries.map((it) => it.toISOString()) }),
    },
  });
}
