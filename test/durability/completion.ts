import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RowDataPacket } from 'mysql2/promise';
import { answering, type Installation } from './service.ts';

const SECOND = 1_000;
const LOOK_EVERY = 2 * SECOND;

/**
 * Makes all retries and sources due and ends the time of open circuits, as if hours had passed. A fault run does not test the schedule.
 * Nothing else is changed.
 */
const LET_TIME_PASS = [
  'UPDATE retries SET due_at = NOW(6) WHERE due_at > NOW(6)',
  'UPDATE webhook_cursors SET circuit_open_until = NULL WHERE circuit_open_until IS NOT NULL',
  'UPDATE webhook_backlogs SET due_at = NOW(6) WHERE due_at > NOW(6)',
  'UPDATE sources SET next_run_at = NOW(6) WHERE next_run_at > NOW(6)',
];

const LEFT = `
  SELECT (SELECT COUNT(*) FROM imports WHERE status IN ('queued', 'running')) AS imports,
    (SELECT COUNT(*) FROM withdrawals WHERE status IN ('queued', 'running')) AS withdrawals,
    (SELECT COALESCE(SUM(GREATEST(CAST(b.matched_count AS SIGNED) - c.delivered_count - c.failed_count, 0)), 0)
     FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id) AS deliveries`;

/** Unfinished imports and withdrawals, pending deliveries, and files of sources that are not in `done/`; 0 at the end of a run. */
export interface Left {
  imports: number;
  withdrawals: number;
  deliveries: number;
  files: number;
}

/** Repairs whatever a fault may have left broken. */
export async function repair({
  clock,
  mysql,
  redis,
  roles,
  receivers,
  webhooks,
  urls,
}: Installation): Promise<void> {
  clock.set(0);
  for (const role of roles.values()) role.cont();
  for (const server of [mysql, redis]) {
    server.thaw();
    await server.start();
  }
  await receivers.change(
    webhooks.map(({ id }) => id),
    'normal',
  );
  for (const url of urls) await answering(`${url}/readyz`);
}

/**
 * Waits until every import and withdrawal is done and no delivery is pending, making retries due meanwhile. A webhook with a rate limit and a backlog may
 * take long, but it makes progress. Two looks in a row must find nothing: while one look counts, a file may become an import, and be in neither count.
 * @returns what is left when it has not become less for `limit` seconds.
 */
export async function waitForCompletion(
  { sql, customers }: Installation,
  limit: number,
  signal: AbortSignal,
): Promise<Left> {
  const folders = customers.map(({ folder }) => folder);
  let end = performance.now() + limit * SECOND;
  let least = Number.POSITIVE_INFINITY;
  let wasDone = false;
  for (;;) {
    const left = { ...(await readLeft(sql)), files: await countFiles(sql, folders) };
    const count = left.imports + left.withdrawals + left.deliveries + left.files;
    if (count < least) {
      least = count;
      end = performance.now() + limit * SECOND;
    }
    const isDone = count === 0;
    if ((isDone && wasDone) || performance.now() > end) return left;
    wasDone = isDone;
    // After a deadlock, the next round tries again.
    for (const statement of LET_TIME_PASS) await sql.query(statement).catch(() => {});
    await sleep(LOOK_EVERY, undefined, { signal });
  }
}

async function readLeft(sql: Installation['sql']): Promise<Omit<Left, 'files'>> {
  const [[row]] = await sql.query<(RowDataPacket & Left)[]>(LEFT);
  return {
    imports: Number(row?.imports),
    withdrawals: Number(row?.withdrawals),
    deliveries: Number(row?.deliveries),
  };
}

/** Counts the files of folder sources that wait, are being collected, have failed, or have grown since they were read. */
async function countFiles(sql: Installation['sql'], folders: readonly string[]): Promise<number> {
  const places = folders.flatMap((folder) => [folder, join(folder, 'processing'), join(folder, 'failed')]);
  const waiting = await Promise.all(places.map(filesIn));
  const done = (await Promise.all(folders.map((folder) => filesIn(join(folder, 'done'))))).flat();
  const [rows] = await sql.query<RowDataPacket[]>('SELECT version FROM source_files');
  // A version is a token, and the size and the time of change of the file as it was read.
  const read = new Set(rows.map(({ version }) => String(version).split(' ').slice(1).join(' ')));
  const states = await Promise.all(done.map(async (file) => stat(file).catch(() => null)));
  const grown = states.filter((it) => it !== null && !read.has(`${it.size} ${it.mtimeMs}`));
  return waiting.flat().length + grown.length;
}

async function filesIn(place: string): Promise<string[]> {
  const found = await readdir(place, { withFileTypes: true }).catch(() => []);
  return found.filter((entry) => entry.isFile()).map(({ name }) => join(place, name));
}
