import type { Sql } from '../../database/transaction.ts';

/** What an event says of the webhook that it is about. Of the endpoint only the origin: a path may hold a token. */
export interface WebhookSubject {
  id: number;
  title: string;
  event: string;
  origin: string;
}

/** Columns of `webhooks w` for `toSubject`. */
export const SUBJECT_COLUMNS =
  "w.id AS subject_id, w.title, w.event, SUBSTRING_INDEX(w.endpoint, '/', 3) AS origin";

export interface SubjectRow {
  subject_id: string;
  title: string;
  event: string;
  origin: string;
}

export const toSubject = ({ subject_id, title, event, origin }: SubjectRow): WebhookSubject => ({
  id: Number(subject_id),
  title,
  event,
  origin,
});

/** Index: the primary key. */
const READ = `SELECT ${SUBJECT_COLUMNS} FROM webhooks w WHERE w.id = ?`;

/** @throws {Error} when there is no such webhook. */
export async function readSubject(sql: Sql, webhookId: string): Promise<WebhookSubject> {
  const [row] = await sql.query<SubjectRow[]>(READ, [webhookId]);
  if (row === undefined) throw new Error(`webhook ${webhookId} does not exist`);
  return toSubject(row);
}
