import * as v from 'valibot';
import type { ImportRow } from './find.ts';

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

/** `received` is the number of rows. It is null until an NDJSON import has been read to its end. */
export const viewImport = (it: ImportRow) => ({
  ...it,
  received_at: it.received_at.toISOString(),
  started_at: it.started_at?.toISOString() ?? null,
  finished_at: it.finished_at?.toISOString() ?? null,
});
