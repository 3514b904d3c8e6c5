import type { Readable } from 'node:stream';
import { request } from 'undici';
import * as v from 'valibot';
import { Failure } from './failure.ts';

const SECOND = 1_000;
/** An upload is answered only when all of it is committed, which can take long. */
const ANSWER_TIMEOUT = 120 * SECOND;

/** The API could not be reached. */
export class UnreachableError extends Failure {
  override name = 'UnreachableError';
}

/** The API answered with an error. The message is the `detail` of that error, if it has one. */
export class RefusedError extends Failure {
  override name = 'RefusedError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Upload {
  type: string;
  bytes: number;
  body: Readable | Buffer;
}

/** A client of the HTTP API. Each answer is validated against its schema. */
export interface Api {
  get<S extends v.GenericSchema>(path: string, answer: S): Promise<v.InferOutput<S>>;
  post<S extends v.GenericSchema>(path: string, body: object, answer: S): Promise<v.InferOutput<S>>;
  upload<S extends v.GenericSchema>(path: string, upload: Upload, answer: S): Promise<v.InferOutput<S>>;
}

const ProblemBody = v.object({ detail: v.string() });

/**
 * Creates a client. Each call throws UnreachableError, RefusedError, or a Failure when the answer does not fit the schema.
 * @param url of the service, without /v1.
 * @throws {Failure} when the key cannot be sent in a header.
 */
export function createApi(url: string, key: string): Api {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Failure('The API key must be the one that was shown, without spaces.');
  const base = url.replace(/\/+$/, '');

  async function ask<S extends v.GenericSchema>(
    method: 'GET' | 'POST',
    path: string,
    answer: S,
    { type, bytes, body }: Partial<Upload> = {},
  ): Promise<v.InferOutput<S>> {
    const headers = {
      authentication: key,
      ...(type === undefined ? {} : { 'content-type': type, 'content-length': String(bytes) }),
    };
    const { statusCode, text } = await request(`${base}${path}`, {
      method,
      headers,
      body: body ?? null,
      headersTimeout: ANSWER_TIMEOUT,
    }).then(
      async (response) => ({ statusCode: response.statusCode, text: await response.body.text() }),
      (error: unknown) => {
        throw unreachable(base, error);
      },
    );
    const json = parse(text);
    if (statusCode >= 400) throw refused(base, statusCode, json);
    const result = v.safeParse(answer, json);
    if (!result.success)
      throw new Failure(`${base}${path} did not answer as Ledgerbell does: is that really the service?`);
    return result.output;
  }

  return {
    get: (path, answer) => ask('GET', path, answer),
    post(path, document, answer) {
      const body = Buffer.from(JSON.stringify(document));
      return ask('POST', path, answer, { type: 'application/json', bytes: body.length, body });
    },
    upload: (path, upload, answer) => ask('POST', path, answer, upload),
  };
}

function unreachable(base: string, error: unknown): UnreachableError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
  const advice = 'Start the service (npm start), or say with --url where it is.';
  return new UnreachableError(`Nothing answers at ${base} (${code}). ${advice}`);
}

function refused(base: string, status: number, answer: unknown): RefusedError {
  const problem = v.safeParse(ProblemBody, answer);
  if (!problem.success) {
    return new RefusedError(status, `${base} answered ${status}: is that really the service?`);
  }
  // The key may belong to another service, so the message names the one that was asked.
  const asked = status === 401 ? ` Asked was ${base}.` : '';
  return new RefusedError(status, problem.output.detail + asked);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
