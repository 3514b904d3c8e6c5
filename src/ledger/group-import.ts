import { fatesOf, type ImportLock, type Stored } from './append.ts';
import { beginHash } from './earlier-uploads.ts';
import type { Movement, Unidentified } from './movement.ts';
import { countRows, type RowCounts } from './row-fate.ts';
import { type Sender, senderValues } from './sender.ts';

/** A small import that the api stores itself: its upload, its row, and its result. */

/** An upload whose body is complete, with its movements validated. */
export interface GroupUpload {
  customerId: string;
  sender: Sender;
  format: string;
  unidentified?: Unidentified;
  idempotencyKey: string | null;
  /** The span of the request; `undefined` while traces are off. */
  traceparent?: string | undefined;
  body: readonly Uint8Array[];
  movements: readonly Movement[];
  /** The value against which the movements were checked; see RemovedTime. */
  removals: number;
}

/** A stored import, with the values of its row. */
export interface GroupImport extends RowCounts {
  importId: string;
  received: number;
  deliveries: number;
  storedAt: Date;
}

/** The values of a row of `imports`. It has the status `done`, and counts as if all movements were new. */
export function toRow(
  upload: GroupUpload,
  locks: ReadonlyMap<string, ImportLock>,
  deliveries = 0,
): unknown[] {
  const { customerId, sender, format, idempotencyKey, traceparent, movements } = upload;
  const count = movements.length;
  const at = locks.get(customerId)?.dateReaded;
  const counts = [count, count, count, deliveries];
  return [
    customerId,
    ...senderValues(sender),
    format,
    'done',
    idempotencyKey,
    traceparent ?? null,
    hashOf(upload),
    ...counts,
    at,
    at,
    at,
    at,
    at,
  ];
}

/** Returns null without a key, because the hash is only compared with that of a request with the same key. */
function hashOf(upload: GroupUpload): Buffer | null {
  if (upload.idempotencyKey === null) return null;
  const hash = beginHash(upload);
  for (const part of upload.body) hash.update(part);
  return hash.digest();
}

/** An import after its movements were stored. */
export function viewStored(
  { customerId, movements }: GroupUpload,
  importId: string,
  stored: Stored,
  locks: ReadonlyMap<string, ImportLock>,
): GroupImport {
  return {
    importId,
    received: movements.length,
    ...countRows(movements.length, fatesOf(importId, stored)),
    deliveries: stored.deliveries.get(importId) ?? 0,
    storedAt: new Date(`${locks.get(customerId)?.dateReaded.replace(' ', 'T').slice(0, 23)}Z`),
  };
}
