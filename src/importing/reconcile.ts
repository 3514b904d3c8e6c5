import type { Sql, WriteResult } from '../database/transaction.ts';

const PAGE = 1_000;

const UNFINISHED = `
  SELECT id FROM imports WHERE status IN ('queued', 'running') AND id > ? ORDER BY id LIMIT ${PAGE}`;

/**
 * An upload that has been `receiving` for so long (the API itself allows 10 minutes) has lost its client or its process;
 * nobody was told that it was accepted.
 */
const DROP_BROKEN_UPLOADS = `
  DELETE FROM imports WHERE status = 'receiving' AND received_at < NOW(6) - INTERVAL 20 MINUTE`;

/**
 * Queues every import that is not finished. One that has a job already keeps it, since the job's id is the import's.
 * @returns how many are unfinished.
 */
export async function reconcileImports(
  sql: Sql,
  queue: (importIds: readonly string[]) => Promise<void>,
): Promise<number> {
  let unfinished = 0;
  for (let after = '0'; ; ) {
    const page = await sql.query<{ id: string }[]>(UNFINISHED, [after]);
    await queue(page.map(({ id }) => id));
    unfinished += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return unfinished;
    after = last.id;
  }
}

export async function dropBrokenUploads(sql: Sql): Promise<number> {
  const { affectedRows } = await sql.query<WriteResult>(DROP_BROKEN_UPLOADS);
  return affectedRows;
}
