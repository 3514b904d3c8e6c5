/** Marks what the bytes are, so that a cursor of another listing, or of a later version, is told apart. */
const PREFIX = 't1:';

/** An opaque cursor: the listing goes on behind this movement. It holds no right: whose rows are seen is decided by the key. */
export function encodeCursor(transactionId: string): string {
  return Buffer.from(PREFIX + transactionId).toString('base64url');
}

/** @returns the id behind which to go on, or null when the text is not a cursor of ours. */
export function decodeCursor(cursor: string): string | null {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const id = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : '';
  return /^\d{1,18}$/.test(id) && encodeCursor(id) === cursor ? id : null;
}
