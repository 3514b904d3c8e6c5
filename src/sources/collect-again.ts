import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { findImport } from '../intake/imports.ts';
import { findWithdrawalOf } from '../intake/withdrawals.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { KINDS, kindOf } from './connectors/kinds.ts';
import { findSource, type SourceRow } from './find-source.ts';
import { fingerprintOf } from './runs/source-files.ts';
import { type RequestedRun, requestRun } from './sources.ts';

/** Has a source collect the file of a withdrawn import again. */

/** Index: source_files_import. */
const LOCK_FILE = `
  SELECT f.id, f.name, f.version, f.fingerprint, f.outcome, s.revision FROM source_files f FORCE INDEX (source_files_import)
    JOIN sources s ON s.id = f.source_id
  WHERE f.import_id = ? AND f.source_id = ? FOR UPDATE`;
const COLLECT_AGAIN = "UPDATE source_files SET outcome = 'again' WHERE id = ?";
/** Otherwise the next run would find the withdrawn import by its key, and not stage the file again. */
const FREE_KEY = 'UPDATE imports SET idempotency_key = NULL WHERE id = ?';

interface FileRow {
  id: string;
  name: string;
  version: string;
  fingerprint: Buffer;
  outcome: 'pending' | 'done' | 'failed' | 'again' | 'forgotten';
  revision: number;
}

/**
 * Has the next run of a source collect the file of a withdrawn import again, and requests this run. May be repeated until the run begins.
 * @throws {Problem} 404 for a source or an import that the caller cannot see, or an import of another source; 409 when the file cannot be
 *   collected again.
 */
export async function collectAgain(
  runtime: Runtime,
  caller: Caller,
  { sourceId, importId }: { sourceId: string; importId: string },
): Promise<RequestedRun> {
  const { database } = runtime;
  const source = await findSource(database, caller, sourceId);
  const { id, source_id } = await findImport(database, caller, importId);
  if (source_id !== source.id) throw notFound('import');
  await requireWithdrawn(database, id);
  const reason = kindOf(KINDS, source.kind).checkAgain(JSON.parse(source.settings));
  if (reason !== null) throw refused(`${reason} ${SEND}`);
  return requestRun(runtime, source, async (sql) => {
    await markFile(sql, source, id);
    await recordChange(sql, caller, {
      action: 'collect again',
      subject: `source ${source.id}`,
      detail: `import ${id}`,
    });
  });
}

const SEND = 'Send the file with POST /v1/imports.';

const refused = (detail: string) => new Problem('not-collectable-again', detail);

/** @throws {Problem} 409. */
async function requireWithdrawn(sql: Sql, importId: string): Promise<void> {
  const withdrawal = await findWithdrawalOf(sql, importId);
  if (withdrawal === null)
    throw refused(`Import ${importId} was not withdrawn as a whole. Withdraw it first.`);
  if (withdrawal.status !== 'done')
    throw refused(
      `The withdrawal of import ${importId} is ${withdrawal.status}. Repeat the request when withdrawal ${withdrawal.id} is done.`,
    );
}

/** @param sql a transaction that has locked the source. @throws {Problem} 409. */
async function markFile(sql: Sql, source: SourceRow, importId: string): Promise<void> {
  const [file] = await sql.query<FileRow[]>(LOCK_FILE, [importId, source.id]);
  if (file === undefined || file.outcome === 'pending')
    throw refused(
      `The source has not moved the file of import ${importId} yet. Run the source, then repeat the request.`,
    );
  if (file.outcome === 'again') return;
  if (file.outcome === 'forgotten')
    throw refused(
      `The source was told before to collect the file of import ${importId} again, and has tried. Its runs show what has become of it.`,
    );
  if (!file.fingerprint.equals(fingerprintOf(file, file)))
    throw refused(`The settings of the source were changed after import ${importId}. ${SEND}`);
  await sql.query(COLLECT_AGAIN, [file.id]);
  await sql.query(FREE_KEY, [importId]);
}
