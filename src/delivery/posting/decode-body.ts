import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib';

/** Reads what an endpoint answered, although it may be compressed, and cut off. */

/** How much text a compressed beginning of 4 KiB may become before it is not shown. */
const MAX_TEXT = 64 * 1024;

/** Whether a decoder accepts content that has no end. */
type Ending = 'may be cut' | 'whole';

const gunzip = (bytes: Buffer, ending: Ending) =>
  gunzipSync(bytes, { ...finishOf(ending, constants.Z_SYNC_FLUSH), maxOutputLength: MAX_TEXT });

const finishOf = (ending: Ending, flush: number) => (ending === 'whole' ? {} : { finishFlush: flush });

/** Content codings (RFC 9110, section 8.4.1). For the log, the content may be cut off anywhere: what can be decoded is enough. */
const DECODERS: Readonly<Record<string, (bytes: Buffer, ending: Ending) => Buffer>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: (bytes, ending) =>
    inflateSync(bytes, { ...finishOf(ending, constants.Z_SYNC_FLUSH), maxOutputLength: MAX_TEXT }),
  br: (bytes, ending) =>
    brotliDecompressSync(bytes, {
      ...finishOf(ending, constants.BROTLI_OPERATION_FLUSH),
      maxOutputLength: MAX_TEXT,
    }),
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
    if (decode !== undefined) return decode(bytes, 'may be cut').subarray(0, limit).toString('utf8');
  } catch {
    // It cannot be read.
  }
  return null;
}

/**
 * Whether a body in a coding was received to its end.
 * @param isOpenEnded only the closing of the connection has ended the body. An empty one may then have lost all of its bytes.
 */
export function isWholeBody(bytes: Buffer, encoding: string, isOpenEnded: boolean): boolean {
  if (encoding === 'identity') return true;
  if (bytes.length === 0) return !isOpenEnded;
  try {
    return DECODERS[encoding.trim().toLowerCase()]?.(bytes, 'whole') !== undefined;
  } catch {
    return false;
  }
}
