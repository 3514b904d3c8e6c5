import type { Sql } from '../../database/transaction.ts';
import { countOf } from '../../platform/text.ts';
import { inWordsOf } from '../../statements/unreadable.ts';
import type { Connector, FileOutcome } from '../connectors/connector.ts';
import type { ClaimedSource } from './claimed-source.ts';
import { type EndedFile, findEndedFiles, findReasons, setOutcome } from './source-files.ts';

/** The most reasons for rejected rows that are written beside a file. */
const SHOWN_REASONS = 100;

/** The outcomes of a run's files. */
export interface RunTally {
  done: number;
  failed: number;
  /** The error of the first file that failed. null: none has failed. */
  firstFailure: string | null;
}

/**
 * Marks the files whose imports have ended, first in the source and then in MySQL. After a crash between the two, both are repeated.
 * @throws {SourceError} when a file cannot be marked.
 */
export async function markEndedFiles(
  sql: Sql,
  source: Pick<ClaimedSource, 'id'>,
  connector: Connector,
  tally: RunTally,
): Promise<void> {
  for (const file of await findEndedFiles(sql, source.id)) {
    const failure = await describeFailure(sql, file);
    const outcome: FileOutcome =
      failure === null
        ? { status: 'done' }
        : { status: 'failed', reason: [failure.sentence, ...failure.details].join('\n') };
    await connector.mark?.(file, outcome);
    await setOutcome(sql, file.id, outcome.status);
    if (failure === null) tally.done += 1;
    else addFailure(tally, file.name, failure.sentence);
  }
}

/** Counts a file that failed. @param sentence the reason. */
export function addFailure(tally: RunTally, name: string, sentence: string): void {
  tally.failed += 1;
  tally.firstFailure ??= `${name}: ${sentence}`;
}

/**
 * Describes why a file counts as failed, for the owner of its source: it could not be read, or rows of it were rejected.
 * @returns null when it did not fail.
 */
async function describeFailure(
  sql: Sql,
  { import_id: importId, status, error, received, rejected }: EndedFile,
): Promise<{ sentence: string; details: string[] } | null> {
  const isRead = status === 'done';
  if (isRead && rejected === 0) return null;
  const reasons = rejected === 0 ? [] : await findReasons(sql, importId, SHOWN_REASONS);
  const lines = reasons.map(({ line, path, message }) =>
    [line === 0 ? '' : `line ${line}`, path, inWordsOf('source', message)]
      .filter((it) => it !== '')
      .join(', '),
  );
  if (!isRead) {
    return {
      sentence: inWordsOf('source', error ?? 'The file could not be read.'),
      details: [...lines, `The id of the import is ${importId}.`],
    };
  }
  const others = received === null || received > rejected ? 'The other rows are stored. ' : '';
  const details = [...lines, `${others}The id of the import is ${importId}.`];
  const first = lines[0] === undefined ? '' : `, the first because of ${lines[0]}`;
  const rows = countOf(received ?? rejected, 'row');
  return { sentence: `${rejected} of ${rows} ${rejected === 1 ? 'was' : 'were'} rejected${first}.`, details };
}
