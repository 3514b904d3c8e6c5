import type { AddressGuard } from '../../platform/address-guard.ts';
import { TIME_LIMITS, type TimeLimits } from './connection-errors.ts';
import { type Connector, type OfferedFile, SourceError } from './connector.ts';
import { MAX_FILE_BYTES } from './file-names.ts';
import { createHttpClient, type HttpAnswer, type HttpClient } from './http-get.ts';
import { offerPages } from './http-json.ts';
import { type HttpCredentials, type HttpSettings, headersOf } from './settings.ts';
import { copyToDisk } from './temporary-copy.ts';

/** Collects one file at a URL, when it has changed. */

/** The longest ETag, so that the version with its prefix fits the column. */
const MAX_ETAG = 240;

/**
 * Yields the file unless it still has the version `since`. The request is conditional on that version (RFC 9110, section 13). If the
 * server sends neither ETag nor Last-Modified, the content is compared, before it is offered from a copy on the disk.
 * @param options.mostBytes a file with more is offered with one byte more, so that it is refused like any file that is too large.
 */
async function* offerFile(
  client: HttpClient,
  url: URL,
  { since, signal, ...options }: OfferOptions,
): AsyncGenerator<OfferedFile> {
  const answer = await client.get(url, conditionFor(since), signal);
  if (answer.status !== 200) return;
  const offer = (version: string, body: AsyncIterable<Uint8Array>): OfferedFile => ({
    name: nameOf(url),
    version,
    format: 'auto',
    open: (ended) => readUntil(ended, answer, body),
  });
  try {
    refuseUnknownEncoding(answer);
    const version = versionFromHeaders(answer);
    if (version === null) yield* offerCopy(answer, offer, { since, ...options });
    else if (version !== since) yield offer(version, answer.body);
  } finally {
    answer.giveUp();
  }
}

interface OfferOptions {
  since: string | null;
  signal: AbortSignal;
  mostBytes: number;
  onProgress: (bytes: number) => void;
}

async function* offerCopy(
  { body }: HttpAnswer,
  offer: (version: string, body: AsyncIterable<Uint8Array>) => OfferedFile,
  { since, mostBytes, onProgress }: Omit<OfferOptions, 'signal'>,
): AsyncGenerator<OfferedFile> {
  const copy = await copyToDisk(body, { most: mostBytes + 1, onProgress });
  try {
    const version = `sha256:${copy.sha256}`;
    if (version !== since) yield offer(version, copy.read());
  } finally {
    await copy.close();
  }
}

/** Accepts gzip, because all files are unpacked later, with a limit to their size. */
function refuseUnknownEncoding({ headers, url }: HttpAnswer): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity' || encoding === 'gzip') return;
  throw new SourceError(
    `${url.host} compresses the file with ${encoding.slice(0, 40)}, although only gzip was offered.`,
  );
}

function conditionFor(since: string | null): Record<string, string> {
  if (since?.startsWith('etag:')) return { 'if-none-match': since.slice('etag:'.length) };
  if (since?.startsWith('modified:')) return { 'if-modified-since': since.slice('modified:'.length) };
  return {};
}

function versionFromHeaders({ headers: { etag, 'last-modified': modified } }: HttpAnswer): string | null {
  if (etag && etag.length <= MAX_ETAG) return `etag:${etag}`;
  return modified ? `modified:${modified}`.slice(0, MAX_ETAG) : null;
}

async function* readUntil(
  ended: AbortSignal,
  answer: HttpAnswer,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  ended.throwIfAborted();
  ended.addEventListener('abort', answer.giveUp, { once: true });
  try {
    yield* body;
  } finally {
    ended.removeEventListener('abort', answer.giveUp);
  }
}

/** The last part of the path. The query is left out, because it may hold a token. */
function nameOf({ pathname, host }: URL): string {
  const last = pathname.split('/').findLast((part) => part !== '');
  if (last === undefined) return host;
  try {
    return decodeURIComponent(last).slice(0, 255);
  } catch {
    return last.slice(0, 255);
  }
}

interface HttpOptions {
  settings: HttpSettings;
  credentials: HttpCredentials;
  guard: AddressGuard;
  /** For pages of JSON: the account of movements without an account. */
  accountId?: string | null;
  limits?: TimeLimits;
  mostBytes?: number;
}

/** Collects a file at a URL, or movements from a JSON API. Nothing on the server is changed. */
export function createHttpConnector({
  settings,
  credentials,
  guard,
  accountId = null,
  limits = TIME_LIMITS,
  mostBytes = MAX_FILE_BYTES,
}: HttpOptions): Connector {
  const url = new URL(settings.url);
  const client = createHttpClient({ origin: url.origin, credentials: headersOf(credentials), guard, limits });
  return {
    files: (since, signal, onProgress = () => {}) =>
      settings.format === 'json'
        ? offerPages(client, settings, accountId, since, signal)
        : offerFile(client, url, { since, signal, mostBytes, onProgress }),
    close: () => client.close(),
  };
}
