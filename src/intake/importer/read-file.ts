import type { MemberOutcome, Recognition } from '../../../packages/statements/src/read-files.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import type { FileReader } from '../parser-threads.ts';
import type { Row } from './rows.ts';
import { createRowReader, type FindAccount } from './statement-rows.ts';

/** How a file is to be read. */
interface ReadOptions extends Recognition {
  reader: Pick<FileReader, 'read'>;
  /** The customer. */
  owner: string;
  findAccount: FindAccount;
}

/**
 * Reads a file of statements, packed or not, and yields its rows.
 * @throws {UnreadableFileError} when it cannot be read at all, or nothing in it is recognised.
 */
export async function* readStatementFile(
  parts: AsyncIterable<Uint8Array>,
  { reader, owner, format, profile, encoding = null, findAccount }: ReadOptions,
): AsyncGenerator<Row[]> {
  let name: string | null = null;
  let toRows: ReturnType<typeof createRowReader> | null = null;
  let line = 0;
  let hasIssue = false;
  const read = async (events: readonly StatementEvent[]): Promise<Row[]> => {
    const rows = (await toRows?.(events)) ?? [];
    const file = name;
    return file === null ? rows : rows.map((row) => nameFile(row, file));
  };
  try {
    for await (const it of reader.read(parts, { format, profile, encoding }, owner)) {
      if ('format' in it) {
        name = it.file;
        hasIssue = false;
        toRows = createRowReader(findAccount, it);
        continue;
      }
      if ('member' in it) {
        yield reportMember(it.member, hasIssue);
        continue;
      }
      const rows = await read(it.events);
      line = rows.at(-1)?.line ?? line;
      hasIssue ||= rows.some((row) => 'issue' in row);
      yield rows;
    }
  } catch (error) {
    // Where the file breaks off, the entries so far still belong to a statement, so it is ended.
    if (error instanceof UnreadableFileError) yield await read([{ type: 'end', line, closing: null }]);
    throw error;
  }
}

/** Reports a file of a zip: a warning if the file was skipped, and an issue if it has failed and has none yet. */
function reportMember(member: MemberOutcome, hasIssue: boolean): Row[] {
  const { outcome, message } = member;
  const line = 1;
  const rows: Row[] = [{ line, member }];
  if (outcome === 'skipped') rows.push({ line, warning: `${message} The file was skipped.` });
  if (outcome === 'failed' && !hasIssue) rows.push({ line, path: 'file', issue: message });
  return rows;
}

/** Adds the name of the file to the messages of a row. */
function nameFile(row: Row, fileName: string): Row {
  const within = (message: string) => `${fileName.slice(-80)}: ${message}`;
  if ('warning' in row) return { ...row, warning: within(row.warning) };
  return 'issue' in row && row.issue !== null ? { ...row, issue: within(row.issue) } : row;
}
