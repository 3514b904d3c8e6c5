/**
 * The listing and version that a cursor belongs to, so that other cursors are rejected. t1: movements, oldest first. m2: deliveries
 * by movement, newest first.
 */
export type CursorKind = 't1' | 'm2';

/** Encodes an opaque cursor. The listing continues after this id. The API key, not the cursor, decides which rows are shown. */
export function encodeCursor(id: string, kind: CursorKind = 't1'): string {
  return Buffer.from(`${kind}:${id}`).toString('base64url');
}

/** @returns the id after which to continue, or null when the text is not a cursor of this listing. */
export function decodeCursor(cursor: string, kind: CursorKind = 't1'): string | null {
  const prefix = `${kind}:`;
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  return /^\d{1,18}$/.test(id) && encodeCursor(id, kind) === cursor ? id : null;
}
