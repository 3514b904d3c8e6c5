import { Agent, request } from 'undici';
import { parseRetryAfter } from '../../../packages/sdk/src/retry-after.ts';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { VERSION } from '../../platform/config.ts';
import { createConnector } from '../../platform/connector.ts';
import { type TimeLimits, toSourceError } from './connection-errors.ts';
import { SourceError } from './connector.ts';

/** Sends GET requests for an HTTP source. Checks every address, follows redirects, and sends credentials only to their own origin. */

const MAX_REDIRECTS = 3;
const REDIRECTS = [301, 302, 303, 307, 308];

export interface HttpAnswer {
  /** 200, 204 or 304. */
  status: number;
  headers: Record<string, string | undefined>;
  /** The body as it was sent, compressed or not. */
  body: AsyncIterable<Uint8Array>;
  /** Ends the transfer. Needed for a body that is not read to its end. */
  giveUp(): void;
  /** Where the answer came from, after redirects. */
  url: URL;
}

export interface HttpClient {
  /**
   * @param headers in addition to the credentials.
   * @throws {SourceError} for any status other than 200, 204 and 304, and when a body that breaks off could not be noticed.
   */
  get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/**
 * @param options.origin the only origin that gets the credentials.
 * @param options.credentials headers.
 */
export function createHttpClient({
  origin,
  credentials,
  guard,
  limits,
}: {
  origin: string;
  credentials: Record<string, string>;
  guard: AddressGuard;
  limits: TimeLimits;
}): HttpClient {
  const agent = new Agent({
    connect: createConnector({ timeout: limits.connect, lookup: guard.lookup }),
    headersTimeout: limits.idle,
    bodyTimeout: limits.idle,
    pipelining: 1,
  });

  async function getOnce(
    url: URL,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    // undici does not look up a literal address, so the guard checks the URL before each request.
    const refusal = guard.checkUrl(url);
    if (refusal !== null) throw new SourceError(refusal);
    const answer = await request(url, {
      method: 'GET',
      dispatcher: agent,
      signal,
      headers: {
        'user-agent': `Ledgerbell/${VERSION}`,
        accept: '*/*',
        'accept-encoding': 'gzip',
        ...headers,
        ...(url.origin === origin && credentials),
      },
    }).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : toSourceError(error, url.host, limits);
    });
    answer.body.on('error', () => {}); // The reader of the body gets the error. Without this, a body that nobody reads would end the process.
    const single = Object.entries(answer.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]);
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(single),
      body: withReadableErrors(answer.body, url.host, limits),
      giveUp: () => void answer.body.destroy(),
      url,
    };
  }

  return {
    async get(url, headers, signal) {
      let target = url;
      for (let redirects = 0; ; redirects += 1) {
        const answer = await getOnce(target, headers, signal);
        if (!REDIRECTS.includes(answer.status)) return accept(answer);
        answer.giveUp();
        if (redirects === MAX_REDIRECTS) {
          throw new SourceError(
            `${url.host} redirects more than ${MAX_REDIRECTS} times. Set "url" to where the file is.`,
          );
        }
        target = followRedirect(target, answer.headers.location);
      }
    },
    close: () => agent.destroy(),
  };
}

function followRedirect(from: URL, location: string | undefined): URL {
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null) throw new SourceError(`${from.host} redirects, but does not say to where.`);
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new SourceError(
      `${from.host} redirects from https to http, where anybody could read and change the file.`,
    );
  }
  return to;
}

function accept(answer: HttpAnswer): HttpAnswer {
  const { status, headers, url } = answer;
  // Without these headers, a body ends when the connection ends, and half a file would look complete (RFC 9112, section 6.3).
  const hasEnd = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  if (status === 200 && hasEnd) return answer;
  answer.giveUp();
  if (status === 304 || status === 204) return answer;
  if (status !== 200) throw refusedBy(answer);
  throw new SourceError(
    `${url.host} sends neither Content-Length nor a chunked body, so a connection that breaks off would look like the end of the file. Have the server send Content-Length.`,
  );
}

async function* withReadableErrors(
  body: AsyncIterable<Uint8Array>,
  host: string,
  limits: TimeLimits,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toSourceError(error, host, limits);
  }
}

function refusedBy({ url: { host }, status, headers }: HttpAnswer): SourceError {
  switch (status) {
    case 401:
      return new SourceError(
        `${host} refuses the credentials (401). Check "bearer", "user" and "password", or "headers".`,
      );
    case 403:
      return new SourceError(
        `${host} does not allow access (403). Check the credentials, and what they may read.`,
      );
    case 404:
    case 410:
      return new SourceError(`${host} has nothing at this URL (${status}). Check "url".`);
    case 429:
    case 503:
      return new SourceError(`${host} asks to come back later (${status}). The next run tries again.`, {
        wait: parseRetryAfter(headers['retry-after'], Date.now()) ?? 0,
      });
    default:
      return new SourceError(
        `${host} answered with status ${status} instead of 200.${status >= 500 ? ' The next run tries again.' : ' Check "url".'}`,
      );
  }
}
