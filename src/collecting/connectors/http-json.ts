import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type OfferedFile, SourceError } from '../connector.ts';
import { codeOf } from './connection-errors.ts';
import type { HttpAnswer, HttpClient } from './http-get.ts';
import { type Page, readPage } from './http-page.ts';
import type { HttpSettings } from './http-settings.ts';

/** Collects movements from a JSON API, page by page. Each page becomes a file of NDJSON. */

/** A page is held in memory. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Pages in one run. The next run continues there. */
const MAX_PAGES = 1_000;

/** An API may give a new cursor for ever although there is nothing new. */
const MAX_EMPTY_PAGES = 10;

/** NDJSON is yielded in pieces of about this many characters. */
const PIECE = 64 * 1024;

/** Before the URL of a page, in `OfferedFile.cursor`. */
const PAGE = 'page:';
/** The longest cursor that is stored. */
const MAX_CURSOR = 4_000;

/**
 * Yields the pages, from the one at `since` on. The last page is asked for again in the next run, since movements may have been added
 * to it; it is a new version if they have.
 * @param accountId goes into movements that have no `account_id`.
 */
export async function* offerPages(
  client: HttpClient,
  settings: HttpSettings,
  accountId: string | null,
  since: string | null,
  signal: AbortSignal,
): AsyncGenerator<OfferedFile> {
  const first = new URL(settings.url);
  let url = settings.start === 'first_page' ? first : (pageOf(since, first) ?? first);
  const seen = new Set<string>();
  let empty = 0;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const answer = await client.get(url, { accept: 'application/json' }, signal);
    if (answer.status !== 200) return;
    const page = readPage(await readText(answer), answer, settings);
    seen.add(url.href);
    const next = page.next === null || seen.has(page.next.href) ? null : page.next;
    empty = page.movements.length === 0 ? empty + 1 : 0;
    if (page.movements.length > 0) yield toFile(page, url, next ?? url, accountId);
    if (next === null || empty === MAX_EMPTY_PAGES) return;
    url = next;
  }
}

/** The page where the last run ended. */
const pageOf = (cursor: string | null, first: URL): URL | null =>
  cursor?.startsWith(PAGE) ? new URL(cursor.slice(PAGE.length), first) : null;

function toFile(page: Page, url: URL, continueAt: URL, accountId: string | null): OfferedFile {
  const cursor = `${PAGE}${continueAt.href}`;
  if (cursor.length > MAX_CURSOR)
    throw new SourceError(`The URL of a page of ${url.host} is longer than ${MAX_CURSOR} characters.`);
  const lines = page.movements.map((movement) => JSON.stringify(withAccount(movement, accountId)));
  const sum = createHash('sha256');
  for (const line of lines) sum.update(line);
  return {
    // A page's URL may be long, and may hold a token.
    name: `page ${createHash('sha256').update(url.href).digest('hex').slice(0, 16)}`,
    version: `sha256:${sum.digest('hex')}`,
    format: 'ndjson',
    cursor,
    open: () => writeLines(lines),
  };
}

function withAccount(movement: unknown, accountId: string | null): unknown {
  if (accountId === null || typeof movement !== 'object' || movement === null) return movement;
  return { account_id: accountId, ...movement };
}

async function* writeLines(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  let piece = '';
  for (const line of lines) {
    piece += `${line}\n`;
    if (piece.length < PIECE) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  if (piece !== '') yield Buffer.from(piece);
}

async function readText(answer: HttpAnswer): Promise<string> {
  const { host } = answer.url;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of decode(answer)) {
      bytes += part.length;
      if (bytes > MAX_PAGE_BYTES) {
        throw new SourceError(
          `A page of ${host} is larger than ${MAX_PAGE_BYTES / 1024 / 1024} MiB. Ask for smaller pages in "url".`,
        );
      }
      parts.push(part);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new SourceError(`A page of ${host} is not UTF-8.`);
    if (code.startsWith('Z_')) throw new SourceError(`A page of ${host} cannot be unpacked as gzip.`);
    throw error;
  } finally {
    answer.giveUp();
  }
}

function decode({ body, headers, url }: HttpAnswer): AsyncIterable<Uint8Array> {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding === 'gzip') return pipeline(Readable.from(body), createGunzip(), () => {});
  throw new SourceError(
    `${url.host} compresses its pages with ${encoding.slice(0, 40)}, although only gzip was offered.`,
  );
}
