import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib';

/** How much text a compressed beginning of 4 KiB may become before it is not shown. */
const MAX_TEXT = 64 * 1024;

/** The same codings, which fail where the content has no end. */
const STRICT_DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_TEXT }),
  'x-gzip': (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_TEXT }),
  deflate: (bytes) => inflateSync(bytes, { maxOutputLength: MAX_TEXT }),
  br: (bytes) => brotliDecompressSync(bytes, { maxOutputLength: MAX_TEXT }),
};

const gunzip = (bytes: Buffer) =>
  gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_TEXT });

/** Content codings (RFC 9110, section 8.4.1). The content may be cut off anywhere, so what can be decoded is enough. */
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: (bytes) => inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_TEXT }),
  br: (bytes) =>
    brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength: MAX_TEXT }),
};

/**
 * Reads the beginning of an answer's body as text. Ledgerbell asks for no coding, but some servers compress all the same.
 * @param encoding of the header Content-Encoding.
 * @param limit the longest text, in bytes.
 * @returns the text. null: the content cannot be read.
 */
export function decodeBody(bytes: Buffer, encoding: string, limit: number): string | null {
  if (encoding === 'identity' || bytes.length === 0) return bytes.toString('utf8');
  const decode = DECODERS[encoding.trim().toLowerCase()];
  try {
    if (decode !== undefined) return decode(bytes).subarray(0, limit).toString('utf8');
  } catch {
    // It cannot be read.
  }
  return null;
}

/** Whether a body in a coding was received to its end. An empty one was. */
export function isWholeBody(bytes: Buffer, encoding: string): boolean {
  if (encoding === 'identity' || bytes.length === 0) return true;
  try {
    return STRICT_DECODERS[encoding.trim().toLowerCase()]?.(bytes) !== undefined;
  } catch {
    return false;
  }
}
