import { VerificationError } from './verification-error.ts';

/** The headers of a request: those of `fetch`, or an object as Node has it. Case does not matter. */
export type RequestHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request as it came. The signature covers the bytes of the body, so nothing may have parsed them. */
export interface ReceivedRequest {
  headers: RequestHeaders;
  /** Bytes (`Uint8Array`, `ArrayBuffer`) or text. Frameworks call it unknown. With anything else, the answer is 500 and says why. */
  body?: unknown;
  /** The bytes that Firebase and Google Cloud Functions keep when they parse a body. Used in place of `body`. */
  rawBody?: unknown;
  /** AWS Lambda sets it when `body` is base64. */
  isBase64Encoded?: boolean | undefined;
}

/**
 * The receiver did not get the request as it came: the fault is in the program, not with the sender. The message says what to change, and
 * contains no secret.
 */
export class UnreadableRequestError extends Error {
  override readonly name = 'UnreadableRequestError';
}

/**
 * Reads a header of a request.
 * @param name in lower case.
 * @returns undefined when it is missing or empty.
 * @throws {VerificationError} `malformed-header` when it was sent more than once.
 * @throws {UnreadableRequestError} when there are no headers.
 */
export function findHeader(headers: RequestHeaders, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null)
    throw new UnreadableRequestError(
      'The receiver got no headers. Pass it { headers, body } of the request.',
    );
  const value =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const values = Array.isArray(value) ? value : [value];
  if (values.length > 1)
    throw new VerificationError('malformed-header', `The request has ${values.length} headers ${name}.`);
  return typeof values[0] === 'string' && values[0] !== '' ? values[0] : undefined;
}

/**
 * Takes the bytes of a body.
 * @throws {UnreadableRequestError} when the program gave something else.
 */
export function bytesOf({ body, rawBody, isBase64Encoded }: ReceivedRequest): Uint8Array {
  const given = rawBody ?? body;
  if (typeof given === 'string')
    return isBase64Encoded === true
      ? Uint8Array.from(atob(given), (char) => char.charCodeAt(0))
      : new TextEncoder().encode(given);
  const bytes = toBytes(given);
  if (bytes !== null) return bytes;
  if (given === undefined || given === null)
    throw new UnreadableRequestError('The receiver got no body: something has read it before.');
  if (isStream(given))
    throw new UnreadableRequestError(
      'The receiver got a stream. Use toNodeHandler or toFetchHandler, or read the bytes before.',
    );
  throw new UnreadableRequestError(
    'The body was parsed before the receiver has seen it. Put the receiver before the parser, or pass the bytes as rawBody.',
  );
}

/** @returns the bytes of a buffer or of a view on one, also of another realm; null for anything else. */
export function toBytes(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isBuffer = Object.prototype.toString.call(value) === '[object ArrayBuffer]';
  return isBuffer ? new Uint8Array(value as ArrayBuffer) : null;
}

const isStream = (value: object) => 'getReader' in value || Symbol.asyncIterator in value;
