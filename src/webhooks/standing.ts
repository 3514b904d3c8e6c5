import { SEALED, type SecretBox } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import { PENDING } from './pending.ts';

/** How a webhook stands: its endpoint's health and its deliveries, by number. */
export interface Standing {
  headerNames: string[];
  health: {
    circuit: 'closed' | 'open' | 'half_open';
    open_until: string | null;
    consecutive_failures: number;
    failing_since: string | null;
    last_error: string | null;
  };
  deliveries: { pending: number; delivered: number; failed: number };
}

/** Indexes: the primary keys. */
const READ = `
  SELECT w.id, w.headers, c.consecutive_failures, c.failing_since, c.last_error, c.circuit_openings,
    IF(c.circuit_open_until > NOW(6), c.circuit_open_until, NULL) AS open_until, c.delivered_count, c.failed_count,
    ${PENDING} AS pending
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  WHERE w.id IN (?)`;

interface Row {
  id: string;
  headers: string | null;
  consecutive_failures: number;
  failing_since: Date | null;
  last_error: string | null;
  circuit_openings: number;
  open_until: Date | null;
  delivered_count: string;
  failed_count: string;
  pending: string;
}

/** @returns each webhook's standing by its id. */
export async function readStandings(
  sql: Sql,
  secrets: SecretBox,
  webhookIds: readonly string[],
): Promise<Map<string, Standing>> {
  if (webhookIds.length === 0) return new Map();
  const rows = await sql.query<Row[]>(READ, [webhookIds]);
  return new Map(rows.map((row) => [row.id, toStanding(row, secrets)]));
}

const toStanding = (row: Row, secrets: SecretBox): Standing => ({
  headerNames:
    row.headers === null
      ? []
      : Object.keys(JSON.parse(secrets.open(row.headers, SEALED.webhookHeaders(row.id))) as object),
  health: {
    circuit: row.open_until !== null ? 'open' : row.circuit_openings > 0 ? 'half_open' : 'closed',
    open_until: row.open_until?.toISOString() ?? null,
    consecutive_failures: row.consecutive_failures,
    failing_since: row.failing_since?.toISOString() ?? null,
    last_error: row.last_error,
  },
  deliveries: {
    pending: Number(row.pending),
    delivered: Number(row.delivered_count),
    failed: Number(row.failed_count),
  },
});
