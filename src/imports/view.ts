import * as v from 'valibot';
import { Count, IdView, Timestamp } from '../http/schemas.ts';
import type { ImportRow } from './find.ts';

export const ImportView = v.object({
  id: IdView,
  source_id: v.pipe(
    v.nullable(IdView),
    v.description('The source that has collected it; null: it was sent with an API key.'),
  ),
  status: v.picklist(['queued', 'running', 'done', 'failed']),
  format: v.pipe(
    v.string(),
    v.description(
      'What was sent. auto: the content of a statement file decides, and detected_format says how.',
    ),
  ),
  detected_format: v.pipe(
    v.nullable(v.string()),
    v.description(
      'The format of the first statement in a statement file, once it is read; null: there is none yet, or the import is JSON or NDJSON.',
    ),
  ),
  received: v.nullable(Count),
  inserted: Count,
  duplicates: Count,
  rejected: Count,
  deliveries: Count,
  statements: Count,
  warnings: Count,
  received_at: Timestamp,
  started_at: v.nullable(Timestamp),
  finished_at: v.nullable(Timestamp),
  error: v.nullable(v.string()),
});

/** `received` is the number of rows. It is null until an NDJSON import has been read to its end. */
export const viewImport = (it: ImportRow) => ({
  ...it,
  id: Number(it.id),
  source_id: it.source_id === null ? null : Number(it.source_id),
  received_at: it.received_at.toISOString(),
  started_at: it.started_at?.toISOString() ?? null,
  finished_at: it.finished_at?.toISOString() ?? null,
});
