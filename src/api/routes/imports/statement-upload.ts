import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Context } from 'hono';
import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { STATEMENT_FORMATS, type StatementFormat } from '../../../../packages/statements/src/formats.ts';
import type { Recognition } from '../../../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../../../packages/statements/src/unreadable.ts';
import { hasAccount } from '../../../customers/accounts.ts';
import type { ApiEnv } from '../../../http/app.ts';
import { Flag, readQuery } from '../../../http/input.ts';
import type { FileReader } from '../../../intake/parser-threads.ts';
import type { StatementOptions } from '../../../intake/stage.ts';
import type { Unidentified } from '../../../ledger/movement.ts';
import { invalid, Problem } from '../../../platform/problem.ts';
import { documented, invalidIssues } from '../../../platform/validation.ts';
import { IdText } from '../../../platform/whole-numbers.ts';

/** The parameters of a statement file: its format, and how to read it. */

/** Content types of statement files. The content of the file decides its format, whatever the type. */
export const STATEMENT_TYPES = [
  'application/octet-stream',
  'text/csv',
  'application/xml',
  'text/xml',
  'application/x-ofx',
  'application/vnd.intu.qfx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/gzip',
  'application/zip',
] as const;

/** The query of an upload of any format. */
export const UploadQuery = v.strictObject({
  format: v.pipe(
    v.optional(v.picklist(['json', 'ndjson', 'auto', ...STATEMENT_FORMATS]), 'auto'),
    v.description(
      'The format of the body. JSON and NDJSON must match the content type. auto: the content type decides, and for a statement file its content.',
    ),
  ),
  account_id: v.pipe(
    v.optional(IdText),
    v.description(
      'Statement files only: the account that all statements in the file are about. By default each statement says which.',
    ),
  ),
  profile: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(/^[a-z0-9-]{1,40}$/, 'must be the name of a profile, such as "garanti-bbva"'),
      ),
    ),
    v.description(
      'CSV and XLSX only: the name of the profile that describes the columns. By default the headings decide.',
    ),
  ),
  create_accounts: v.pipe(
    Flag,
    v.description(
      'Statement files only: whether accounts that you do not have are created. Needs a key for all accounts.',
    ),
  ),
  force_account: v.pipe(
    Flag,
    v.description(
      'Statement files only, with `account_id`: whether a statement that names another account is stored for `account_id` all the same, with a warning. By default it is rejected.',
    ),
  ),
  unidentified: v.pipe(
    v.optional(v.picklist(['known', 'store'], 'must be "known" or "store"'), 'known'),
    v.description(
      'Decides about a row without an id that equals a stored movement. known: it is the same movement, and counts in assumed_duplicates. store: it is another movement.',
    ),
  ),
  dry_run: v.pipe(Flag, v.description('true: read the body as an import would, and store nothing.')),
});

const FORMATS = ['auto', ...STATEMENT_FORMATS] as const;

const Query = v.strictObject({
  ...UploadQuery.entries,
  format: v.optional(v.picklist(FORMATS, `must be one of ${FORMATS.join(', ')}`), 'auto'),
});

/** Reads the parameters of a statement file. @throws {Problem} 422 when a parameter is wrong, or the account is not the caller's. */
export async function readStatementUpload(
  c: Context<ApiEnv>,
  database: DataSource,
): Promise<{
  format: StatementFormat | 'auto';
  statement: StatementOptions;
  unidentified: Unidentified;
  isDryRun: boolean;
}> {
  const query = readQuery(c, Query);
  const { format, account_id: accountId = null, profile = null, create_accounts, unidentified } = query;
  const createAccounts = create_accounts === 'true';
  const forceAccount = query.force_account === 'true';
  const caller = c.get('caller');
  if (accountId !== null && !(await hasAccount(database, caller, accountId))) {
    throw invalidIssues([{ path: 'account_id', message: 'is not one of your accounts' }]);
  }
  if (createAccounts && caller.accountIds !== 'all') {
    throw invalidIssues([{ path: 'create_accounts', message: 'needs an API key for all accounts' }]);
  }
  if (forceAccount && accountId === null)
    throw invalidIssues([{ path: 'force_account', message: 'needs account_id' }]);
  const isDryRun = query.dry_run === 'true';
  return { format, statement: { accountId, profile, createAccounts, forceAccount }, unidentified, isDryRun };
}

/** The body of a form (RFC 7578), as browsers and `curl -F` send it. */
export const MULTIPART_TYPE = 'multipart/form-data';

/** The body, for the document. */
export const MultipartForm = v.strictObject({
  file: v.pipe(
    v.string(),
    v.description('A statement file. Parameters are in the query string.'),
    documented({ format: 'binary' }),
  ),
});

/** The field that holds the file. */
const FIELD = 'file';

/**
 * Yields the file in a form as it arrives.
 * @throws {Problem} 400 when the form is broken or cut off; 422 when it has anything other than one file in the field `file`. The error
 * may come after the last byte of the file, so accept nothing before the end.
 */
export async function* readMultipartFile(
  body: AsyncGenerator<Uint8Array>,
  contentType: string,
): AsyncGenerator<Uint8Array> {
  const form = openForm(contentType);
  const feeding = feed(body, form);
  feeding.catch(() => {});
  try {
    const file = await Promise.race([form.file, feeding]);
    // Any other part is a fault already.
    if (file === null) throw malformed();
    feeding.catch((error) => file.destroy(error));
    yield* file as AsyncIterable<Uint8Array>;
    await feeding;
  } catch (error) {
    throw form.fault() ?? error;
  } finally {
    // Not awaited, because the client may never send more.
    body.return(undefined).catch(() => {});
  }
}

interface Form {
  parser: BusboyInstance;
  /** Resolves when the content of the file begins. Stays pending if there is no such field. */
  file: Promise<Readable>;
  /** The error in the part of the form that has been read. */
  fault(): Problem | null;
}

function openForm(contentType: string): Form {
  const parser = createParser(contentType);
  let fault: Problem | null = null;
  const refuse = () => {
    fault ??= notOneFile();
  };
  parser.on('filesLimit', refuse);
  parser.on('fieldsLimit', refuse);
  parser.on('error', () => {
    fault ??= malformed();
  });
  const file = new Promise<Readable>((resolve) => {
    parser.on('file', (name, content) => {
      // `fault` reports this error already.
      content.on('error', () => {});
      if (name === FIELD) return resolve(content);
      refuse();
      content.resume();
    });
  });
  return { parser, file, fault: () => fault };
}

/** @throws {Problem} 400 when the content type names no boundary. */
function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fields: 0, headerPairs: 20 },
      isPartAFile: (name, _type, fileName) => name === FIELD || fileName !== undefined,
    });
  } catch {
    throw malformed();
  }
}

/** Feeds the whole body to the parser, as fast as the file is read. @throws {Problem} when the form has a fault. */
async function feed(body: AsyncIterable<Uint8Array>, { parser, fault }: Form): Promise<null> {
  const requireFaultless = () => {
    const found = fault();
    if (found !== null) throw found;
  };
  for await (const part of body) {
    const hasRoom = parser.write(part);
    requireFaultless();
    if (!hasRoom) await once(parser, 'drain');
  }
  const finished = once(parser, 'finish');
  parser.end();
  await finished;
  requireFaultless();
  return null;
}

const malformed = () =>
  new Problem(
    'malformed-multipart',
    'The body must be complete multipart/form-data with at least one part, and its Content-Type must name the boundary of the body.',
  );

const notOneFile = () =>
  invalid([
    {
      path: FIELD,
      message: 'must be the only field of the form, and hold one file: send parameters in the query string',
    },
  ]);

/**
 * Refuses a file whose beginning shows that it cannot be read, so that the client learns this immediately and not from the import.
 * @returns the whole file, including the beginning.
 * @throws {Problem} 422 that says what is supported and what to do.
 */
export async function requireReadable(
  file: AsyncIterable<Uint8Array>,
  { reader, owner, ...recognition }: Recognition & { reader: FileReader; owner: string },
): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await reader.check(file, recognition, owner);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    const { message, hint } = error;
    throw new Problem('unreadable-file', hint === undefined ? message : `${message} ${hint}`, {
      errors: [{ path: 'file', message }],
    });
  }
}
