import * as v from 'valibot';
import type { Import } from '../../database/entities/import.ts';

export const ImportView = v.object({
  id: v.string(),
  status: v.picklist(['queued', 'running', 'done', 'failed']),
  format: v.string(),
  received: v.nullable(v.number()),
  inserted: v.number(),
  duplicates: v.number(),
  rejected: v.number(),
  deliveries: v.number(),
  received_at: v.string(),
  started_at: v.nullable(v.string()),
  finished_at: v.nullable(v.string()),
  error: v.nullable(v.string()),
});

/** `received` counts rows; null until a stream has been read to its end. */
export const viewImport = (it: Import) => ({
  id: it.id,
  status: it.status,
  format: it.format,
  received: it.received,
  inserted: it.inserted,
  duplicates: it.duplicates,
  rejected: it.rejected,
  deliveries: it.deliveries,
  received_at: it.receivedAt.toISOString(),
  started_at: it.startedAt?.toISOString() ?? null,
  finished_at: it.finishedAt?.toISOString() ?? null,
  error: it.error,
});
