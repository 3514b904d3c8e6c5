import { SEALED } from '../../src/database/secret-box.ts';
import type { TestService } from './service.ts';

/** Sources of which some are in trouble, for the console. */
export interface TroubleSources {
  /** Its last three runs failed. It has credentials. */
  failing: string;
  /** It has brought a file of which not all could be imported. */
  wrongFile: string;
  paused: string;
}

const PASSWORD = 'kasa-parolası-MARKER';

/** Texts that no page may contain. */
export const SOURCE_SECRETS = [PASSWORD, 'kasa-parolası'];

export const WRONG_FILE = 'mart <i>2026</i>.sta';

/** None of them runs by itself while it is looked at. */
const SCHEDULE = '{"cron":"0 0 1 1 *","time_zone":"UTC"}';

/** Writes what sources and their runs would have left behind. @param importId of the wrong file. */
export async function insertTroubleSources(
  { runtime }: TestService,
  customerId: string,
  importId: string,
): Promise<TroubleSources> {
  const { database, secrets } = runtime;
  const insert = async (statement: string, values: unknown[]) =>
    String((await database.query<{ insertId: number }>(statement, values)).insertId);
  const insertSource = (
    title: string,
    kind: string,
    settings: object,
    status: string,
    failures: number,
    error: string | null,
  ) =>
    insert(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts, status, consecutive_failures,
        error, last_run_at, next_run_at)
       VALUES (?, ?, ?, ?, ?, 'auto', 0, ?, ?, ?, NOW(6) - INTERVAL 10 MINUTE,
         IF(status = 'active', NOW(6) + INTERVAL 40 MINUTE, NULL))`,
      [customerId, title, kind, JSON.stringify(settings), SCHEDULE, status, failures, error],
    );
  const insertRun = (
    source: string,
    minutesAgo: number,
    status: string,
    files: number,
    error: string | null,
  ) =>
    insert(
      `INSERT INTO source_runs (source_id, customer_id, status, files, error, started_at, finished_at)
       VALUES (?, ?, ?, ?, ?, NOW(6) - INTERVAL ? MINUTE, started_at + INTERVAL 3 SECOND)`,
      [source, customerId, status, files, error, minutesAgo],
    );

  const refused = 'The server sftp.banka.example refused the password.';
  const place = { host: 'sftp.banka.example', user: 'sahin', path: '/ekstre' };
  const failing = await insertSource('Günlük ekstre', 'sftp', place, 'active', 3, refused);
  await database.query('UPDATE sources SET credentials = ? WHERE id = ?', [
    secrets.seal(JSON.stringify({ password: PASSWORD }), SEALED.sourceCredentials(failing)),
    failing,
  ]);
  await insertRun(failing, 190, 'done', 0, null);
  for (const minutesAgo of [130, 70, 10]) await insertRun(failing, minutesAgo, 'failed', 0, refused);

  const rejected = `${WRONG_FILE}: 1 row was rejected.`;
  const wrongFile = await insertSource('Aylık ekstre', 'folder', { path: 'aylik' }, 'active', 0, rejected);
  const run = await insertRun(wrongFile, 10, 'done', 1, rejected);
  await database.query(
    `INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id, outcome)
     VALUES (?, ?, ?, UNHEX(SHA2('x', 256)), ?, '1', ?, 'failed')`,
    [wrongFile, customerId, run, WRONG_FILE, importId],
  );
  const paused = await insertSource('Eski banka', 'folder', { path: 'eski' }, 'paused', 0, null);
  return { failing, wrongFile, paused };
}
