import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import * as v from 'valibot';
import { codeOf } from './connection-errors.ts';
import { type OfferedFile, SourceError } from './connector.ts';
import type { HttpAnswer, HttpClient } from './http-get.ts';
import type { HttpSettings } from './settings.ts';

/** Collects movements from a JSON API, page by page. Each page becomes a file of NDJSON. */

/** The limit for a page, because it is held in memory. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** The most pages in one run. The next run continues after them. */
const MAX_PAGES = 1_000;

/** A run ends after this many empty pages in a row, because an API may return new cursors forever. */
const MAX_EMPTY_PAGES = 10;

/** NDJSON is yielded in pieces of about this many characters. */
const PIECE = 64 * 1024;

/** Stands before the URL of a page in `OfferedFile.cursor`. */
const PAGE = 'page:';
/** The longest cursor that is stored. */
const MAX_CURSOR = 4_000;

/**
 * Yields the pages, beginning with the page at `since`. The next run requests the last page again, because movements may have been added
 * to it. If so, the page is a new version.
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

/** The URL of the page where the last run ended. */
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

export interface Page {
  movements: unknown[];
  /** null: this is the last page. */
  next: URL | null;
}

const Body = v.object({ transactions: v.array(v.unknown()) });
const Cursor = v.union([v.string(), v.number(), v.null(), v.undefined()]);

/** Reads the movements of a page, and where the next page is. @throws {SourceError} when the page does not have the shape of `POST /v1/imports`. */
export function readPage(text: string, answer: HttpAnswer, settings: HttpSettings): Page {
  const { host } = answer.url;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new SourceError(
      `A page of ${host} is not JSON. Check "url", or set "format" to "file" for a statement file.`,
    );
  }
  const body = v.safeParse(Body, json);
  if (!body.success) {
    throw new SourceError(`A page of ${host} has no array "transactions", as POST /v1/imports has it.`);
  }
  const next =
    settings.json === undefined ? nextOfLink(answer) : nextOfCursor(json, settings.json, settings.url, host);
  return { movements: body.output.transactions, next };
}

/** `Link: <…>; rel="next"` (RFC 8288). */
function nextOfLink({ headers, url }: HttpAnswer): URL | null {
  for (const [, target = '', parameters = ''] of (headers.link ?? '').matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? [];
    const relations = (quoted ?? bare ?? '').toLowerCase().split(/\s+/);
    if (!relations.includes('next')) continue;
    if (!URL.canParse(target, url.href))
      throw new SourceError(`The header Link of ${url.host} has a URL that cannot be read.`);
    return new URL(target, url);
  }
  return null;
}

function nextOfCursor(
  json: unknown,
  { cursor_path, cursor_parameter }: NonNullable<HttpSettings['json']>,
  first: string,
  host: string,
): URL | null {
  const found = v.safeParse(Cursor, memberAt(json, cursor_path.split('.')));
  if (!found.success)
    throw new SourceError(`"${cursor_path}" in a page of ${host} is neither a text nor a number.`);
  const cursor = found.output ?? '';
  if (cursor === '') return null;
  const next = new URL(first);
  next.searchParams.set(cursor_parameter, String(cursor));
  return next;
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return memberAt((value as Record<string, unknown>)[name], rest);
}
