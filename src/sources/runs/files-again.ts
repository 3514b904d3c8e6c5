import type { Sql } from '../../database/transaction.ts';
import { type Connector, FileError, type PutAwayFile, untilAborted } from '../connectors/connector.ts';
import { addFailure, type ClaimedSource, fingerprintOf, forgetFile, type RunTally } from './source-files.ts';

/**
 * The files that a run collects again, because their imports were withdrawn. Their rows in `source_files` have the outcome `again`. When
 * the file is back in the source, or recorded again, or cannot be collected again, the row becomes `forgotten`.
 */

/** Index: source_files_outcome. */
const FIND_FILES = `
  SELECT id, name, version, place, fingerprint FROM source_files FORCE INDEX (source_files_outcome)
  WHERE outcome = 'again' AND source_id = ? ORDER BY id`;

interface FileRow extends PutAwayFile {
  id: string;
  fingerprint: Buffer;
}

const OTHER_SETTINGS =
  'It is to be collected again, but the settings of the source were changed. If the source does not offer it any more, send it with POST /v1/imports.';
const NOT_OFFERED =
  'It is to be collected again, but the source does not offer it any more. Send the file with POST /v1/imports.';

/** Files that the source still has to offer, because nothing has moved them. */
export interface AwaitedFiles {
  readonly size: number;
  /** Notes that the source offers a file. */
  noteOffered(file: { name: string; version: string }): void;
  /** The source was looked at from beginning to end: the files that it did not offer cannot be collected again. */
  giveUp(): Promise<void>;
}

/** Puts the files back where `files` finds them. After a crash between this and forgetting a file, both are repeated. */
export async function putFilesBack(
  sql: Sql,
  source: ClaimedSource,
  connector: Connector,
  { signal, tally, noteProgress }: { signal: AbortSignal; tally: RunTally; noteProgress: () => void },
): Promise<AwaitedFiles> {
  const awaited = new Map<string, FileRow>();
  const giveUp = async ({ id, name }: FileRow, reason: string) => {
    await forgetFile(sql, id);
    addFailure(tally, name, reason);
  };
  for (const file of await sql.query<FileRow[]>(FIND_FILES, [source.id])) {
    const { id, name, version, place, fingerprint } = file;
    if (!fingerprint.equals(fingerprintOf(source, file))) {
      await giveUp(file, OTHER_SETTINGS);
      continue;
    }
    try {
      const putBack =
        connector.putBack === undefined
          ? 'in place'
          : await untilAborted(connector.putBack({ name, version, place }, signal), signal);
      if (putBack === 'in place') awaited.set(fingerprint.toString('hex'), file);
      else if (putBack === 'put back') await forgetFile(sql, id);
      else await giveUp(file, putBack.failure);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      addFailure(tally, name, error.message);
    }
    noteProgress();
  }
  return {
    get size() {
      return awaited.size;
    },
    noteOffered: (file) => void awaited.delete(fingerprintOf(source, file).toString('hex')),
    async giveUp() {
      for (const file of awaited.values()) await giveUp(file, NOT_OFFERED);
    },
  };
}
