import type { SecretBox } from '../../database/secret-box.ts';

/** Cursors of feeds: opaque texts that only this installation can make, so that nobody can acknowledge an event that was not handed out. */

/** A place in a webhook's feed. */
export interface Position {
  /** The webhook's epoch, which grows with each replay. */
  epoch: number;
  /** The reader has all events up to this movement. */
  through: number;
}

const VERSION = 'f1';

/** Base64url of `f1:<epoch>:<id of a movement>:<code>`. The code also covers the webhook's id. */
export function encodeCursor(secrets: SecretBox, webhookId: string, { epoch, through }: Position): string {
  const text = `${VERSION}:${epoch}:${through}`;
  return Buffer.from(`${text}:${secrets.authenticate(`${webhookId} ${text}`)}`).toString('base64url');
}

/** @returns null for a text that is not a cursor of this webhook's feed. */
export function decodeCursor(secrets: SecretBox, webhookId: string, cursor: string): Position | null {
  const decoded = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, text, epoch, through, code = ''] = /^(f1:(\d{1,10}):(\d{1,16})):([\w-]{22})$/.exec(decoded) ?? [];
  if (text === undefined || !secrets.isAuthentic(`${webhookId} ${text}`, code)) return null;
  return { epoch: Number(epoch), through: Number(through) };
}
