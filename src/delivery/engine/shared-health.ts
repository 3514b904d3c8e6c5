import type { Sql } from '../../database/transaction.ts';
import { circuitOpenUntil } from '../../webhook-record/circuit.ts';
import { type EndpointColumns, endpointOf } from '../../webhook-record/record.ts';
import { toHealth } from '../posting/request.ts';
import type { EndpointHealth } from '../run/types.ts';
import type { LeasedRecord } from './ports.ts';

/**
 * The health of an endpoint that the webhooks of a template share. Each of their runs knows it only as it was a moment ago, so no run writes its
 * own: what the answers to its POSTs change is applied to the health that is stored.
 */

/** Index: the primary key. */
const READ_SHARED_HEALTH = `
  /* READ_SHARED_HEALTH */ SELECT k.webhook_id, k.health_revision, ${endpointOf('k')},
    TIMESTAMPDIFF(MICROSECOND, NOW(6), ${circuitOpenUntil('k')}) / 1000 AS open_for
  FROM webhook_cursors k WHERE k.webhook_id IN (?)`;

interface HealthRow extends EndpointColumns {
  webhook_id: string;
  health_revision: number;
  open_for: string | number | null;
}

/** The new health of a template's endpoint, to be stored. */
export interface SharedHealth {
  templateId: string;
  /** The template's revision. */
  revision: number;
  health: EndpointHealth;
  lastError: string | null;
  now: number;
}

/** For how long a health that was read answers for records that change nothing of it. Milliseconds. */
const FRESH_FOR = 500;

/**
 * The rows of health that this process has read lately, by the templates' ids. Most records have only successes, which change nothing of a healthy endpoint. Without this,
 * each of their transactions would have one statement more.
 */
export type RecentHealth = Map<string, { row: HealthRow; readAt: number }>;

/** The records whose endpoints are templates', by the templates' ids. */
function ofTemplates(records: readonly LeasedRecord[]): Map<string, LeasedRecord[]> {
  const found = new Map<string, LeasedRecord[]>();
  for (const it of records) {
    if (it.settings.id === it.lease.webhookId) continue;
    found.set(it.settings.id, [...(found.get(it.settings.id) ?? []), it]);
  }
  return found;
}

/**
 * Applies what runs have seen to the stored health of their templates' endpoints. Locks only the rows that change. Call it last in the
 * transaction, so that no other waits for long.
 * @returns the health by the template's id: what is stored, and `write`: what has changed and is to be stored.
 */
export async function applyHealthChanges(
  sql: Sql,
  records: readonly LeasedRecord[],
  recent: RecentHealth,
): Promise<{ stored: Map<string, EndpointHealth>; write: SharedHealth[] }> {
  const byTemplate = ofTemplates(records);
  const stored = new Map<string, EndpointHealth>();
  if (byTemplate.size === 0) return { stored, write: [] };
  const recordsOf = (id: string) => byTemplate.get(id) ?? [];
  const read = async (ids: readonly string[], lock = '') => {
    const rows = await sql.query<HealthRow[]>(READ_SHARED_HEALTH + lock, [ids]);
    for (const row of rows) recent.set(row.webhook_id, { row, readAt: timeOf(recordsOf(row.webhook_id)) });
    return rows.map((row) => applyTo(row, recordsOf(row.webhook_id)));
  };
  const unread: string[] = [];
  for (const [id, own] of byTemplate) {
    const known = recent.get(id);
    const isFresh =
      known !== undefined && timeOf(own) - known.readAt < FRESH_FOR && known.row.open_for === null;
    const unchanged = isFresh ? applyTo(known.row, own) : null;
    if (unchanged === null || unchanged.isChanged) unread.push(id);
    else stored.set(id, unchanged.health);
  }
  if (unread.length === 0) return { stored, write: [] };
  const seen = await read(unread);
  for (const { templateId, health } of seen) stored.set(templateId, health);
  const changing = seen.filter(({ isChanged }) => isChanged).map(({ templateId }) => templateId);
  if (changing.length === 0) return { stored, write: [] };
  const write = await read(changing, ' ORDER BY k.webhook_id FOR UPDATE');
  for (const { templateId, health, isChanged } of write) {
    stored.set(templateId, health);
    if (isChanged) recent.delete(templateId);
  }
  return { stored, write: write.filter(({ isChanged }) => isChanged) };
}

const timeOf = (records: readonly LeasedRecord[]): number => Math.max(...records.map(({ now }) => now));

function applyTo(row: HealthRow, records: readonly LeasedRecord[]): SharedHealth & { isChanged: boolean } {
  const now = timeOf(records);
  const before = toHealth(row, row.open_for === null ? null : now + Number(row.open_for));
  let health = before;
  let lastError = row.last_error;
  // An answer from before the health was reset says nothing about the endpoint as it is now.
  const current = records.filter(({ settings }) => settings.revision >= row.health_revision);
  for (const { record } of current)
    for (const change of record.healthChanges) {
      health = change(health);
      ({ lastError } = record);
    }
  const revision = Math.max(0, ...current.map(({ settings }) => settings.revision));
  return { templateId: row.webhook_id, revision, health, lastError, now, isChanged: health !== before };
}
