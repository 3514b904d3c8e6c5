import { createHash } from 'node:crypto';
import type { ImportLock } from './import-locks.ts';
import type { Movement } from './movement.ts';
import type { Upload } from './stage.ts';
import type { Stored } from './store.ts';

/** A small import that the api stores itself: what comes in, its row, and what it says once its movements are stored. */

/** An upload whose body is complete, with its movements validated. */
export interface InlineUpload extends Upload {
  body: readonly Uint8Array[];
  movements: readonly Movement[];
  /** What the movements were checked against; see RemovedTime. */
  removals: number;
}

/** A stored import, with the values of its row. */
export interface InlineImport {
  importId: string;
  received: number;
  inserted: number;
  duplicates: number;
  deliveries: number;
  storedAt: Date;
}

/** The values of a row of `imports`: done already, with its counts as if all movements were new. */
export function toRow(
  { customerId, apiKeyId, format, idempotencyKey, traceparent, body, movements }: InlineUpload,
  locks: ReadonlyMap<string, ImportLock>,
  deliveries = 0,
): unknown[] {
  const count = movements.length;
  const at = locks.get(customerId)?.dateReaded;
  const counts = [count, count, count, deliveries];
  return [
    customerId,
    apiKeyId,
    format,
    'done',
    idempotencyKey,
    traceparent ?? null,
    hashOf(idempotencyKey, body),
    ...counts,
    at,
    at,
    at,
  ];
}

/** The hash is only compared with that of a request with the same key, so without a key there is none. */
function hashOf(idempotencyKey: string | null, body: readonly Uint8Array[]): Buffer | null {
  if (idempotencyKey === null) return null;
  const hash = createHash('sha256');
  for (const part of body) hash.update(part);
  return hash.digest();
}

/** An inline import after its movements were stored. */
export function viewStored(
  { customerId, movements }: InlineUpload,
  importId: string,
  stored: Stored,
  locks: ReadonlyMap<string, ImportLock>,
): InlineImport {
  const inserted = stored.inserted.get(importId) ?? 0;
  return {
    importId,
    received: movements.length,
    inserted,
    duplicates: movements.length - inserted,
    deliveries: stored.deliveries.get(importId) ?? 0,
    storedAt: new Date(`${locks.get(customerId)?.dateReaded.replace(' ', 'T').slice(0, 23)}Z`),
  };
}
