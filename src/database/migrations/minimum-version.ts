import type { Sql } from '../transaction.ts';

/** Keeps processes from running if the schema has become too new for their version. */

/**
 * The oldest version that may use this version's schema. A migration only adds what the new version needs. A later version removes
 * what only older versions use, and raises this number. So processes of two consecutive releases can run side by side. 1.0.0 is the
 * first release. Older databases cannot be upgraded.
 */
const OLDEST_COMPATIBLE = '1.0.0';

const READ_MINIMUM_VERSION = 'SELECT version FROM minimum_version WHERE id = 1';
const RAISE_MINIMUM_VERSION = `
  INSERT INTO minimum_version (id, version) VALUES (1, ?) ON DUPLICATE KEY UPDATE version = VALUES(version)`;

/** Processes of the last half minute. A process reports every 5 s. */
const READ_RUNNING_PROCESSES =
  'SELECT version, host, pid FROM processes WHERE seen_at > NOW(6) - INTERVAL 30 SECOND';

/** Whether one version (`1.10.2`) comes before another. */
export function isOlder(one: string, other: string): boolean {
  const parts = (version: string) => version.split('.').map(Number);
  const [others, own] = [parts(other), parts(one)];
  const at = others.findIndex((part, index) => part !== (own[index] ?? 0));
  return at !== -1 && (own[at] ?? 0) < (others[at] ?? 0);
}

async function readMinimum(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ version: string }[]>(READ_MINIMUM_VERSION);
  return row?.version ?? '0.0.0';
}

/**
 * Checks that a version may use the database.
 * @throws {Error} when the schema has become too new for it.
 */
export async function requireMinimumVersion(sql: Sql, version: string): Promise<void> {
  const minimum = await readMinimum(sql);
  if (isOlder(version, minimum)) {
    throw new Error(
      `This is Ledgerbell ${version}, and a newer version has changed the database so that it needs ${minimum} or later. Start that version, or restore the backup that was made before.`,
    );
  }
}

/**
 * Checks, before migrations that remove something, that no process of a version older than `oldest` is running.
 * @param sql a connection to a database whose schema exists.
 * @throws {Error} when processes are running whose version would not work afterwards.
 */
export async function requireNoOlderProcess(sql: Sql, oldest = OLDEST_COMPATIBLE): Promise<void> {
  if (!isOlder(await readMinimum(sql), oldest)) return;
  const running = await sql.query<{ version: string; host: string; pid: number }[]>(READ_RUNNING_PROCESSES);
  const old = running.filter(({ version }) => isOlder(version, oldest));
  if (old.length === 0) return;
  const names = old.map(({ version, host, pid }) => `${version} (process ${pid} on ${host})`).join(', ');
  throw new Error(
    `After this migration, ${oldest} is the oldest version that works. Stop these processes first: ${names}.`,
  );
}

/** Records the minimum version that the migrations require. It never goes back. */
export async function raiseMinimumVersion(sql: Sql, oldest = OLDEST_COMPATIBLE): Promise<void> {
  if (isOlder(await readMinimum(sql), oldest)) await sql.query(RAISE_MINIMUM_VERSION, [oldest]);
}
