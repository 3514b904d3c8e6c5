import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { addAbortSignal, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import type { Config } from '../platform/config.ts';
import { explain, Failure } from './context.ts';

/** Calls the API for the commands. */

const SECOND = 1_000;
/** Long, because an upload is answered only when all of it is committed. */
const ANSWER_TIMEOUT = 120 * SECOND;
const NO_ANSWER = Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' });

/** The API could not be reached. */
export class UnreachableError extends Failure {
  override name = 'UnreachableError';
}

/** The connection was lost, or the service failed, within an answer. */
export class BrokenOffError extends UnreachableError {
  override name = 'BrokenOffError';
}

/** The API answered with an error. The message is the `detail` of that error, if it has one. */
export class RefusedError extends Failure {
  override name = 'RefusedError';
  readonly status: number;
  /** The name of the problem, such as `not-found`; empty: the answer does not say. */
  readonly problem: string;
  readonly issues: readonly { path: string; message: string }[];

  constructor(
    status: number,
    message: string,
    { problem = '', issues = [] }: { problem?: string; issues?: RefusedError['issues'] } = {},
  ) {
    super(message);
    this.status = status;
    this.problem = problem;
    this.issues = issues;
  }
}

export interface Upload {
  type: string;
  /** undefined: not known beforehand. */
  bytes: number | undefined;
  body: Readable | Buffer;
}

interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below the service's URL, with the query string. */
  path: string;
  upload?: Upload | undefined;
  /** Ends the request when it is aborted. */
  signal?: AbortSignal | undefined;
}

interface ApiResponse {
  /** The address of the service, for messages. */
  base: string;
  status: number;
  type: string | undefined;
  link: string | undefined;
  /** It errors if it breaks off. Whoever does not read it to its end destroys it. */
  body: Readable;
}

/** Sends a request to the API. @throws {UnreachableError} if there is no answer. */
type Transport = (request: ApiRequest) => Promise<ApiResponse>;

/** A client of the API. Each answer is validated against its schema. */
export interface Api {
  /** @param signal ends the request when it is aborted. */
  get<S extends v.GenericSchema>(path: string, answer: S, signal?: AbortSignal): Promise<v.InferOutput<S>>;
  /** Reads an answer that comes in pages. Yields each page. @param signal ends the reading when it is aborted. */
  pages<S extends v.GenericSchema>(
    path: string,
    answer: S,
    signal?: AbortSignal,
  ): AsyncGenerator<v.InferOutput<S>>;
  /**
   * Reads a list page by page, up to `limit` rows.
   * @param path without `per_page` and `cursor`.
   * @param name of the answer's member with the rows.
   * @param signal ends the reading when it is aborted.
   */
  list<S extends v.GenericSchema>(
    path: string,
    name: string,
    row: S,
    limit: number,
    signal?: AbortSignal,
  ): Promise<Listed<S>>;
  /**
   * Reads an answer that is a file, part by part, so that no more of it is in memory than one part.
   * @param type of the file, such as `text/csv`.
   * @throws {BrokenOffError} when the answer ends before the file does.
   */
  download(path: string, type: string, signal: AbortSignal): AsyncGenerator<Uint8Array>;
  post<S extends v.GenericSchema>(path: string, body: object, answer: S): Promise<v.InferOutput<S>>;
  patch<S extends v.GenericSchema>(path: string, body: object, answer: S): Promise<v.InferOutput<S>>;
  delete<S extends v.GenericSchema>(path: string, answer: S): Promise<v.InferOutput<S>>;
  upload<S extends v.GenericSchema>(path: string, upload: Upload, answer: S): Promise<v.InferOutput<S>>;
}

export interface Listed<S extends v.GenericSchema> {
  rows: v.InferOutput<S>[];
  /** Whether rows were left out. */
  more: boolean;
}

const MAX_PER_PAGE = 1_000;

/**
 * Creates a client that sends requests over HTTP. Each call throws UnreachableError, RefusedError, or a Failure when the answer does
 * not fit the schema.
 * @param url of the service, without /v1.
 * @throws {Failure} when the key cannot be sent in a header.
 */
export function createApi(url: string, key: string): Api {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Failure('The API key must be the one that was shown, without spaces.');
  const hint = 'Start the service (ledgerbell start), or say with --url where it is.';
  return createHttpClient(() => ({ url, headers: { authentication: key } }), hint);
}

/** The URL at which a listener of this machine can be asked. */
export function defaultUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Where requests are sent, and how. */
interface Server {
  /** Without /v1. */
  url: string;
  /** Sent with each request. */
  headers: Readonly<Record<string, string>>;
}

/**
 * Creates a client that sends requests over HTTP.
 * @param find the server, for each request.
 * @param hint what the user can do when nothing answers.
 */
export const createHttpClient = (find: () => Server, hint: string): Api =>
  createClient(async (request) => {
    const { url, headers } = find();
    const base = url.replace(/(?<!\/)\/+$/, '');
    const response = await send(base, request, headers).catch((error: unknown) => {
      request.signal?.throwIfAborted();
      throw unreachable(base, error, hint);
    });
    return { base, ...response };
  });

/** Sends a request with Node's own client, because loading undici would take longer than most commands. */
async function send(
  base: string,
  { method, path, upload, signal }: ApiRequest,
  ofClient: Server['headers'],
): Promise<Omit<ApiResponse, 'base'>> {
  const url = new URL(`${base}${path}`);
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const headers = { ...ofClient, ...headersOf(upload) };
  const sent = request(url, { method, headers, ...(signal === undefined ? {} : { signal }) });
  // Without a listener, an error after the answer would end the process.
  sent.on('error', () => {});
  sent.once('finish', () => sent.setTimeout(ANSWER_TIMEOUT, () => sent.destroy(NO_ANSWER)));
  const stream = upload?.body instanceof Readable ? upload.body : Readable.from(upload ? [upload.body] : []);
  stream.once('error', (error) => sent.destroy(error)).pipe(sent);
  const end = () => {
    // The service may answer before the end of the upload, for example when the file is too large.
    if (!sent.writableFinished) sent.destroy();
    stream.destroy();
  };
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const { statusCode: status = 0, headers } = response;
    const { 'content-type': type, link } = headers;
    return { status, type, link: link?.toString(), body: response.once('close', end) };
  } catch (error) {
    end();
    throw error;
  }
}

/** The headers of a request's body. */
function headersOf(upload: Upload | undefined): Record<string, string> {
  if (upload === undefined) return {};
  const { type, bytes } = upload;
  return { 'content-type': type, ...(bytes === undefined ? {} : { 'content-length': String(bytes) }) };
}

/** How often, and how long apart, a request is sent while the service starts its process with the role api again. */
const MOST_TRIES = 20;
const TRY_AGAIN_AFTER = SECOND / 2;

/** A stream can be sent once. */
const mayComeAgain = ({ upload }: ApiRequest): boolean => !(upload?.body instanceof Readable);

/** Creates a client on a transport. */
function createClient(send: Transport): Api {
  async function ask<S extends v.GenericSchema>(
    request: ApiRequest,
    answer: S,
    tries = 1,
  ): Promise<{ body: v.InferOutput<S>; link: string | undefined }> {
    const { base, status, link, body } = await send(request);
    const json = await readJson(body, request);
    if (status >= 400) {
      const error = refused(base, status, json);
      // Nothing was done, so the same request may be sent again.
      if (error.problem !== 'no-api-process' || !mayComeAgain(request) || tries >= MOST_TRIES) throw error;
      await sleep(TRY_AGAIN_AFTER, undefined, { signal: request.signal });
      return ask(request, answer, tries + 1);
    }
    const result = v.safeParse(answer, json);
    if (!result.success) throw notLedgerbell(base, request);
    return { body: result.output, link };
  }

  async function* pages<S extends v.GenericSchema>(
    path: string,
    answer: S,
    signal?: AbortSignal,
  ): AsyncGenerator<v.InferOutput<S>> {
    let next: string | undefined = path;
    while (next !== undefined) {
      signal?.throwIfAborted();
      const { body, link } = await ask({ method: 'GET', path: next, signal }, answer);
      yield body;
      next = nextPath(link);
    }
  }

  async function* download(path: string, type: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const request: ApiRequest = { method: 'GET', path, signal };
    const { base, status, type: answered = '', body } = await send(request);
    if (status >= 400) throw refused(base, status, await readJson(body, request));
    if (answered.split(';')[0] !== type) {
      body.destroy();
      throw notLedgerbell(base, request);
    }
    yield* parts(body, request);
  }

  const notLedgerbell = (base: string, { path }: ApiRequest) =>
    new Failure(`${base}${path} did not answer as Ledgerbell does: is that really the service?`);

  const askFor = async <S extends v.GenericSchema>(request: ApiRequest, answer: S) =>
    (await ask(request, answer)).body;

  return {
    get: (path, answer, signal) => askFor({ method: 'GET', path, signal }, answer),
    pages,
    download,
    async list(path, name, row, limit, signal) {
      const rows: v.InferOutput<typeof row>[] = [];
      const page = v.pipe(
        v.looseObject({ [name]: v.array(row) }),
        v.transform((answer) => answer[name] ?? []),
      );
      const perPage = `per_page=${Math.min(limit, MAX_PER_PAGE)}`;
      let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}${perPage}`;
      while (next !== undefined && rows.length < limit) {
        signal?.throwIfAborted();
        const { body, link } = await ask({ method: 'GET', path: next, signal }, page);
        rows.push(...body);
        next = nextPath(link);
      }
      return { rows: rows.slice(0, limit), more: next !== undefined || rows.length > limit };
    },
    post: (path, document, answer) => askFor({ method: 'POST', path, upload: toJson(document) }, answer),
    patch: (path, document, answer) => askFor({ method: 'PATCH', path, upload: toJson(document) }, answer),
    delete: (path, answer) => askFor({ method: 'DELETE', path }, answer),
    upload: (path, upload, answer) => askFor({ method: 'POST', path, upload }, answer),
  };
}

const nextPath = (link: string | undefined): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];

function toJson(document: object): Upload {
  const body = Buffer.from(JSON.stringify(document));
  return { type: 'application/json', bytes: body.length, body };
}

function unreachable(base: string, error: unknown, hint: string): UnreachableError {
  const code = codeOf(error) ?? 'no answer';
  return new UnreachableError(`Nothing answers at ${base} (${code}). ${hint}`);
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

const ProblemBody = v.object({
  type: v.optional(v.string(), ''),
  detail: v.string(),
  errors: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
});

function refused(base: string, status: number, answer: unknown): RefusedError {
  const problem = v.safeParse(ProblemBody, answer);
  if (!problem.success) {
    return new RefusedError(status, `${base} answered ${status}: is that really the service?`);
  }
  const { type, detail, errors: issues = [] } = problem.output;
  // The key or token may belong to another service, so the message names the service that was asked.
  const message = status === 401 ? `${detail} The request went to ${base}.` : detail;
  return new RefusedError(status, message, { problem: type.replace('/problems/', ''), issues });
}

/** Yields the parts of an answer. @throws {BrokenOffError} */
async function* parts(body: Readable, { signal }: ApiRequest): AsyncGenerator<Buffer> {
  const reading = (signal === undefined ? body : addAbortSignal(signal, body))[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await reading.next().catch((error: unknown) => {
        signal?.throwIfAborted();
        throw new BrokenOffError(`The answer of the service broke off (${codeOf(error) ?? explain(error)}).`);
      });
      if (done) return;
      yield value;
    }
  } finally {
    body.destroy();
  }
}

/** @returns undefined if the answer is not JSON. @throws {BrokenOffError} */
async function readJson(body: Readable, request: ApiRequest): Promise<unknown> {
  const answer = await text(parts(body, request));
  try {
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}
