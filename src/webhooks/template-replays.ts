import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import type { WebhookEvent } from '../database/webhook-enums.ts';
import type { Replayable } from '../delivery/delivery.ts';
import { storeReplayOf } from '../delivery/replays.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { Problem } from '../platform/problem.ts';
import type { WebhookSettings } from '../webhook-record/record.ts';

/** Replays of all webhooks of a template. The regular check gives each webhook a replay of its own. */

/** `since` and `until` are inclusive, see `ReplayRequest`. */
interface TemplateReplay {
  since: Date | string;
  until: Date | string | undefined;
  statuses: readonly Replayable[];
}

/** One at a time, because a second one would have to wait. */
const REQUEST = `
  UPDATE webhook_templates SET replay_since = ?, replay_until = ?, replay_statuses = ?, replay_through = 0
  WHERE webhook_id = ? AND replay_through IS NULL`;

/**
 * Requests a replay of all webhooks of a template.
 * @throws {Problem} 409 while an earlier one has not reached all webhooks.
 */
export async function requestTemplateReplay(
  { database }: Pick<Runtime, 'database'>,
  caller: Caller,
  { id }: Pick<WebhookSettings, 'id'>,
  { since, until, statuses }: TemplateReplay,
): Promise<void> {
  await inTransaction(database, async (sql) => {
    const values = [since, until ?? null, statuses.join(','), id];
    const { affectedRows } = await sql.query<WriteResult>(REQUEST, values);
    if (affectedRows === 0)
      throw new Problem(
        'replay-under-way',
        'A replay of this template has not reached all of its webhooks yet. Ask again when "replay" of the template is null.',
      );
    const detail = `${statuses.join(' and ')}, stored since ${since} UTC`;
    await recordChange(sql, caller, { action: 'replay', subject: `template ${id}`, detail });
  });
}

/** Webhooks whose replays are stored in one transaction. */
const PART = 50;

/** Index: webhook_templates_replay. */
const LOCK_REPLAY = `
  SELECT webhook_id AS id, CAST(replay_since AS CHAR) AS since, CAST(replay_until AS CHAR) AS until, replay_statuses AS statuses, replay_through
  FROM webhook_templates WHERE replay_through IS NOT NULL ORDER BY replay_through LIMIT 1 FOR UPDATE`;

/** In the order of their customers. Index: webhooks_of_template. */
const READ_PART = `
  SELECT w.id, w.customer_id AS customerId, w.event, w.delivery, c.failed_count
  FROM webhooks w FORCE INDEX (webhooks_of_template) STRAIGHT_JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.template_id = ? AND w.customer_id > ? AND w.status <> 'deleted' ORDER BY w.template_id, w.customer_id LIMIT ${PART}`;

const ADVANCE = 'UPDATE webhook_templates SET replay_through = ? WHERE webhook_id = ?';

interface PartRow {
  id: string;
  customerId: string;
  event: WebhookEvent;
  delivery: 'push' | 'pull';
  failed_count: string;
}

/**
 * Stores the replays of webhooks whose templates are to be replayed, in parts, and wakes the webhooks.
 * @param signal ends the work after the current part.
 * @returns how many webhooks were looked at.
 */
export async function replayTemplates(
  runtime: Pick<Runtime, 'database' | 'queues' | 'redis' | 'prefix' | 'log'>,
  signal: AbortSignal,
): Promise<number> {
  for (let looked = 0; ; ) {
    if (signal.aborted) return looked;
    const part = await inTransaction(runtime.database, replayPart);
    if (part === null) return looked;
    looked += part.looked;
    // The reconciler finds webhooks that are not woken here.
    await wakeWebhooks(runtime, part.woken, { reread: true }).catch((err: unknown) =>
      runtime.log.warn({ err }, 'webhooks with replays not woken yet'),
    );
  }
}

/** @returns null: no template is to be replayed. */
async function replayPart(sql: Sql): Promise<{ looked: number; woken: string[] } | null> {
  const [next] =
    await sql.query<
      { id: string; since: string; until: string | null; statuses: string; replay_through: string }[]
    >(LOCK_REPLAY);
  if (next === undefined) return null;
  const statuses = next.statuses.split(',') as Replayable[];
  const rows = await sql.query<PartRow[]>(READ_PART, [next.id, next.replay_through]);
  const woken: string[] = [];
  for (const { id, customerId, event, delivery, failed_count } of rows) {
    // Most webhooks have nothing that has failed.
    if (delivery === 'push' && !statuses.includes('delivered') && Number(failed_count) === 0) continue;
    const { matched } = await storeReplayOf(sql, {
      webhook: { id, customerId, event, delivery },
      since: next.since,
      until: next.until ?? undefined,
      statuses,
    });
    if (matched !== 0) woken.push(id);
  }
  await sql.query(ADVANCE, [rows.length < PART ? null : rows.at(-1)?.customerId, next.id]);
  return { looked: rows.length, woken };
}
