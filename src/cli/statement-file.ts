import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import type { Upload } from './api-client.ts';
import { Failure } from './failure.ts';

const LINE_FEED = 0x0a;

const FORMAT_OF_EXTENSION: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
};

const TYPE_OF_FORMAT: Readonly<Record<string, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};

const STDIN = '-';

/** A file to be imported. */
export interface StatementFile {
  /** "-": standard input. */
  path: string;
  /** undefined for standard input. */
  bytes: number | undefined;
  /** From --format, otherwise from the extension of the file's name. `auto`: a statement file, whose content decides the format. */
  format: string;
}

/** How to read a statement file. */
export interface StatementParameters {
  /** The account, if the file does not name it. */
  account?: string;
  profile?: string;
  createAccounts?: boolean;
  /** Statements that name another account are stored for `account` all the same. */
  forceAccount?: boolean;
  /** Nothing is stored. */
  dryRun?: boolean;
}

/** @throws {Failure} when there is no such file. */
export async function findStatementFile(path: string, format: string | undefined): Promise<StatementFile> {
  if (path === STDIN) return { path, bytes: undefined, format: format ?? 'auto' };
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(
      error.code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read (${error.code}).`,
    );
  });
  if (!found.isFile()) throw new Failure(`${path} is not a file.`);
  const known = format ?? FORMAT_OF_EXTENSION[extname(path).toLowerCase()] ?? 'auto';
  return { path, bytes: found.size, format: known };
}

/** The path of the API that accepts such a file. */
export function importPath(
  { format }: StatementFile,
  { account, profile, createAccounts, forceAccount, dryRun }: StatementParameters,
): string {
  const query = new URLSearchParams({
    ...(format in TYPE_OF_FORMAT ? {} : { format }),
    ...(account === undefined ? {} : { account_id: account }),
    ...(profile === undefined ? {} : { profile }),
    ...(createAccounts === true ? { create_accounts: 'true' } : {}),
    ...(forceAccount === true ? { force_account: 'true' } : {}),
    ...(dryRun === true ? { dry_run: 'true' } : {}),
  });
  return query.size === 0 ? '/v1/imports' : `/v1/imports?${query}`;
}

/** Opens the file as a streamed upload, because it may be large. `onBytes` gets the size of each part that is read. */
export function openUpload(
  { path, bytes, format }: StatementFile,
  onBytes: (bytes: number) => void,
): { upload: Upload; countLines: () => number } {
  let lines = 0;
  async function* read(): AsyncGenerator<Buffer> {
    if (bytes === 0) return;
    for await (const part of openSource(path, bytes)) {
      for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) lines += 1;
      onBytes(part.length);
      yield part;
    }
  }
  const type = TYPE_OF_FORMAT[format] ?? 'application/octet-stream';
  return {
    upload: { type, bytes, body: Readable.from(read(), { objectMode: false }) },
    countLines: () => lines,
  };
}

/** Sends only the original length of a file that grows during the upload. */
const openSource = (path: string, bytes: number | undefined): AsyncIterable<Buffer> =>
  bytes === undefined ? process.stdin : createReadStream(path, { end: bytes - 1 });
