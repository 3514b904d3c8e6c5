import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import * as v from 'valibot';
import { apiKeyOf, type Caller } from '../customers/caller.ts';
import { IDEMPOTENCY_KEY, KEY_HOURS } from '../platform/idempotency-key.ts';
import { invalid, notFound, Problem } from '../platform/problem.ts';
import { check } from '../platform/validation.ts';
import { Id } from '../platform/whole-numbers.ts';
import type { ApiEnv } from './app.ts';

/** Reads the parts of a request: its idempotency key, its media type, and its body within limits. */

/**
 * Reads the Idempotency-Key: a string of RFC 8941 in quotes, as in the draft for this header, or the bare text that most clients send.
 * An API key limited to accounts has its own idempotency keys, because a shared key could return a response that it may not see.
 * @returns null when there is none.
 * @throws {Problem} 422.
 */
export function readIdempotencyKey(c: Context<ApiEnv>): string | null {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw invalid([
      {
        path: 'Idempotency-Key',
        message: 'must be 1 to 255 printable ASCII characters, without a space at either end',
      },
    ]);
  }
  const caller = c.var.caller as Caller | undefined;
  return caller === undefined ? key : scopeOf(caller, key);
}

function scopeOf({ accountIds, actor }: Caller, key: string): string {
  if (accountIds === 'all') return key;
  return createHash('sha256')
    .update(`${apiKeyOf(actor)}:${key}`)
    .digest('hex');
}

/** 409 while the first request with a key has no response yet. */
export const requestInProgress = () =>
  new Problem(
    'request-in-progress',
    'A request with this Idempotency-Key is in progress. Wait for its answer.',
    {
      headers: { 'Retry-After': '1' },
    },
  );

/** 409 for a key that was used for another request before. */
export const keyReused = () =>
  new Problem(
    'idempotency-key-reused',
    `This Idempotency-Key was used for another request within ${KEY_HOURS} hours. Use a new key for a new request.`,
  );

const KIB = 1024;
const MIB = 1024 * KIB;

/** Largest JSON body of a resource, in bytes. */
export const RESOURCE_BYTES = 256 * KIB;

type Schema = v.GenericSchema<unknown, unknown>;

/** The media type of the body, without its parameters. */
export function mediaType(c: Context<ApiEnv>): string {
  return (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/**
 * Reads the body as JSON and validates it.
 * @throws {Problem} 415 for another content type, 413 when it is too large, 400 when it is not JSON, 422 with each issue's path.
 */
export async function readJson<S extends Schema>(c: Context<ApiEnv>, schema: S): Promise<v.InferOutput<S>> {
  requireMediaType(c, ['application/json']);
  return check(schema, parseJson(await readBytes(c, RESOURCE_BYTES)));
}

/** How many content types a message names. */
const MOST_NAMED_TYPES = 4;

/**
 * @param encodings compressions that the body may have.
 * @throws {Problem} 415 for another compression or another content type. The message names the first of the accepted content types, and the
 * header Accept all of them (RFC 9110, section 15.5.16).
 */
export function requireMediaType(
  c: Context<ApiEnv>,
  accepted: readonly string[],
  encodings: readonly string[] = [],
): void {
  if (!accepted.includes(mediaType(c))) {
    const named =
      accepted.length <= MOST_NAMED_TYPES
        ? accepted.join(' or ')
        : `${accepted.slice(0, MOST_NAMED_TYPES).join(', ')}, or another one of those in the header Accept of this answer`;
    throw new Problem('unsupported-media-type', `The content type must be ${named}.`, {
      headers: { Accept: accepted.join(', ') },
    });
  }
  const encoding = c.req.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity' && !encodings.includes(encoding)) {
    throw new Problem(
      'unsupported-content-encoding',
      encodings.length === 0
        ? 'The body must not be compressed. Send it without Content-Encoding.'
        : `Content-Encoding must be ${encodings.join(' or ')}, or absent if the body is not compressed.`,
    );
  }
}

const sizeOf = (bytes: number) => (bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`);

const tooLarge = (limit: number) => new Problem('too-large', `The body must be at most ${sizeOf(limit)}.`);

/**
 * The most bytes that the body can have: its Content-Length, or the limit if it has none.
 * @throws {Problem} 413 when Content-Length exceeds the limit.
 */
export function declaredBytes(c: Context<ApiEnv>, limit: number): number {
  const bytes = Number(c.req.header('content-length') ?? limit);
  if (bytes > limit) throw tooLarge(limit);
  return bytes;
}

/**
 * Yields the body's bytes as they arrive. Reads from Node's request, because Hono's web stream costs more than all the other work for a
 * small import.
 * @throws {Problem} 413 as soon as there are more than `limit`.
 */
export async function* streamBytes(c: Context<ApiEnv>, limit: number): AsyncGenerator<Uint8Array> {
  declaredBytes(c, limit);
  const { incoming } = c.env;
  let bytes = 0;
  try {
    for await (const part of incoming.iterator({ destroyOnReturn: false })) {
      bytes += part.length;
      if (bytes > limit) throw tooLarge(limit);
      yield part;
    }
  } catch (error) {
    throw toBodyError(error);
  } finally {
    // If the caller stops early, this drops the rest of the body, so that the client can use the connection for its next request.
    incoming.resume();
  }
}

/** Turns the error of an upload that its client broke off into a 408. Only the log shows the 408, because the client is gone. */
const toBodyError = (error: unknown): unknown =>
  error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
    ? new Problem('request-timeout', 'The connection was closed before the whole body had come.')
    : error;

/** Bodies that have been read. Middleware and the handler of a request share the body. */
const bodies = new WeakMap<Readable, Promise<Buffer>>();

/** The whole body. @throws {Problem} 413. */
export function readBytes(c: Context<ApiEnv>, limit: number): Promise<Buffer> {
  const isLarge = declaredBytes(c, limit) > RESOURCE_BYTES;
  const { incoming } = c.env;
  const known = bodies.get(incoming);
  if (known !== undefined) return known;
  const body = isLarge ? collectParts(streamBytes(c, limit)) : collectBytes(incoming, limit);
  bodies.set(incoming, body);
  return body;
}

/** With an iterator, each connection is read up to its small buffer in a pass of the event loop. A listener may get 2 MiB in one. */
async function collectParts(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

function collectBytes(incoming: Readable, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    incoming.on('data', (part: Buffer) => {
      bytes += part.length;
      // Reads and drops the rest, so that the answer reaches a client that is still sending.
      if (bytes > limit) reject(tooLarge(limit));
      else parts.push(part);
    });
    incoming.on('end', () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
    incoming.on('error', (error) => reject(toBodyError(error)));
  });
}

/** @throws {Problem} 400 when the bytes are not JSON in UTF-8 (RFC 8259, section 8.1). */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw malformedJson();
  }
}

export const malformedJson = () => new Problem('malformed-json', 'The body is not valid JSON in UTF-8.');

/**
 * Refuses a client that could not tell whether a long answer is whole. HTTP/1.0 has no chunks, so that the end of the connection is the end
 * of the answer (RFC 9112, section 6.3).
 * @throws {Problem} 422.
 */
export function requireChunks(c: Context<ApiEnv>): void {
  if (c.env.incoming.httpVersion !== '1.0') return;
  const message =
    'must not be csv over HTTP/1.0, where a file that breaks off looks whole: use HTTP/1.1. Behind nginx, set proxy_http_version 1.1';
  throw invalid([{ path: 'format', message }]);
}

/** "true" or "false" in a query, by default "false". */
export const Flag = v.optional(v.picklist(['true', 'false'], 'must be "true" or "false"'), 'false');

/** Validates the query string. Each parameter may be given once. @throws {Problem} 422 with the parameter's name. */
export function readQuery<S extends Schema>(c: Context<ApiEnv>, schema: S): v.InferOutput<S> {
  const repeated = Object.entries(c.req.queries()).find(([, values]) => values.length > 1);
  if (repeated !== undefined) throw invalid([{ path: repeated[0], message: 'must be given only once' }]);
  return check(schema, c.req.query());
}

/** Reads an id from the path. @throws {Problem} 404 when it cannot be an id. */
export function readId(c: Context<ApiEnv>, what: string, name = 'id'): string {
  const result = v.safeParse(Id, c.req.param(name));
  if (!result.success) throw notFound(what);
  return result.output;
}
