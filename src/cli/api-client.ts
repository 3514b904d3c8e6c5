import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as v from 'valibot';
import { Failure } from './context.ts';

/** Calls the API for the commands. */

const SECOND = 1_000;
/** Long, because an upload is answered only when all of it is committed. */
const ANSWER_TIMEOUT = 120 * SECOND;
const NO_ANSWER = Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' });

/** The API could not be reached. */
export class UnreachableError extends Failure {
  override name = 'UnreachableError';
}

/** The API answered with an error. The message is the `detail` of that error, if it has one. */
export class RefusedError extends Failure {
  override name = 'RefusedError';
  readonly status: number;
  readonly issues: readonly { path: string; message: string }[];

  constructor(status: number, message: string, issues: RefusedError['issues'] = []) {
    super(message);
    this.status = status;
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
  status: number;
  text: string;
  link: string | undefined;
}

/** Sends a request to the API: over HTTP, or for operators within this process. @throws {UnreachableError} */
export type Transport = (request: ApiRequest) => Promise<ApiResponse>;

/** A client of the API. Each answer is validated against its schema. */
export interface Api {
  /** @param signal ends the request when it is aborted. */
  get<S extends v.GenericSchema>(path: string, answer: S, signal?: AbortSignal): Promise<v.InferOutput<S>>;
  /**
   * Reads a list page by page, up to `limit` rows.
   * @param path without `per_page` and `cursor`.
   * @param name of the answer's member with the rows.
   */
  list<S extends v.GenericSchema>(path: string, name: string, row: S, limit: number): Promise<Listed<S>>;
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
  const base = url.replace(/(?<!\/)\/+$/, '');
  return createClient(base, (request) =>
    send(base, request, key).catch((error: unknown) => {
      throw unreachable(base, error);
    }),
  );
}

/** Sends a request with Node's own client, because loading undici would take longer than most commands. */
async function send(
  base: string,
  { method, path, upload, signal }: ApiRequest,
  key: string,
): Promise<ApiResponse> {
  const url = new URL(`${base}${path}`);
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const headers = { authentication: key, ...headersOf(upload) };
  const sent = request(url, { method, headers, ...(signal === undefined ? {} : { signal }) });
  // Without a listener, an error after the answer would end the process.
  sent.on('error', () => {});
  sent.once('finish', () => sent.setTimeout(ANSWER_TIMEOUT, () => sent.destroy(NO_ANSWER)));
  const stream = upload?.body instanceof Readable ? upload.body : Readable.from(upload ? [upload.body] : []);
  stream.once('error', (error) => sent.destroy(error)).pipe(sent);
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const { statusCode = 0 } = response;
    return { status: statusCode, text: await text(response), link: response.headers.link?.toString() };
  } finally {
    // The service may answer before the end of the upload, for example when the file is too large.
    if (!sent.writableFinished) sent.destroy();
    stream.destroy();
  }
}

/** The headers of a request's body. */
export function headersOf(upload: Upload | undefined): Record<string, string> {
  if (upload === undefined) return {};
  const { type, bytes } = upload;
  return { 'content-type': type, ...(bytes === undefined ? {} : { 'content-length': String(bytes) }) };
}

/** Creates a client on a transport. @param base the address of the service, for messages. */
export function createClient(base: string, send: Transport): Api {
  async function ask<S extends v.GenericSchema>(
    request: ApiRequest,
    answer: S,
  ): Promise<{ body: v.InferOutput<S>; link: string | undefined }> {
    const { status, text, link } = await send(request);
    const json = parse(text);
    if (status >= 400) throw refused(base, status, json);
    const result = v.safeParse(answer, json);
    if (!result.success)
      throw new Failure(
        `${base}${request.path} did not answer as Ledgerbell does: is that really the service?`,
      );
    return { body: result.output, link };
  }

  const askFor = async <S extends v.GenericSchema>(request: ApiRequest, answer: S) =>
    (await ask(request, answer)).body;

  return {
    get: (path, answer, signal) => askFor({ method: 'GET', path, signal }, answer),
    async list(path, name, row, limit) {
      const rows: v.InferOutput<typeof row>[] = [];
      const page = v.pipe(
        v.looseObject({ [name]: v.array(row) }),
        v.transform((answer) => answer[name] ?? []),
      );
      const perPage = `per_page=${Math.min(limit, MAX_PER_PAGE)}`;
      let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}${perPage}`;
      while (next !== undefined && rows.length < limit) {
        const { body, link } = await ask({ method: 'GET', path: next }, page);
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

function unreachable(base: string, error: unknown): UnreachableError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
  const hint = 'Start the service (ledgerbell start), or say with --url where it is.';
  return new UnreachableError(`Nothing answers at ${base} (${code}). ${hint}`);
}

const ProblemBody = v.object({
  detail: v.string(),
  errors: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
});

function refused(base: string, status: number, answer: unknown): RefusedError {
  const problem = v.safeParse(ProblemBody, answer);
  if (!problem.success) {
    return new RefusedError(status, `${base} answered ${status}: is that really the service?`);
  }
  const { detail, errors } = problem.output;
  // The key may belong to another service, so the message names the service that was asked.
  return new RefusedError(status, status === 401 ? `${detail} The request went to ${base}.` : detail, errors);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
