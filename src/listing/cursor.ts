/**
 * Marks which listing a cursor belongs to, so that one of another listing, or of a later version, is told apart:
 * t1 movements, oldest first; m2 deliveries, by movement, newest first.
 */
export type CursorKind = 't1' | 'm2';

/** An opaque cursor: the listing goes on behind this id. It holds no right: whose rows are seen is decided by the key. */
export function encodeCursor(id: string, kind: CursorKind = 't1'): string {
  return Buffer.from(`${kind}:${id}`).toString('base64url');
}

/** @returns the id behind which to go on, or null when the text is not a cursor of this listing. */
export function decodeCursor(cursor: string, kind: CursorKind = 't1'): string | null {
  const prefix = `${kind}:`;
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  return /^\d{1,18}$/.test(id) && encodeCursor(id, kind) === cursor ? id : null;
}
