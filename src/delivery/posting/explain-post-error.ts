import { cutTo } from '../../database/text-columns.ts';
import { explainAddressErrors } from '../../platform/connector.ts';
import { explainTlsError, firstErrorOf } from '../../platform/tls-errors.ts';

/** Says in words why a POST got no complete answer. The messages of undici and of llhttp are for the authors of HTTP clients. */

/** Codes of a connection that ended early: by FIN (undici, llhttp) or by RST. */
const BROKEN_OFF = ['UND_ERR_SOCKET', 'HPE_INVALID_EOF_STATE', 'ECONNRESET', 'EPIPE'];

const WORDS: Readonly<Record<string, string>> = {
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the length of the answer is not its Content-Length',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are longer than 64 KiB',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are longer than 64 KiB',
};

/**
 * @param reported the error of the HTTP client, or the reason for which the POST was cut short.
 * @param isBegun whether bytes of an answer came.
 * @returns one line, with the error's code before the words, as much as is kept.
 */
export function explainPostError(reported: Error, isBegun: boolean): string {
  const error = firstErrorOf(reported);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const words =
    explainTlsError(error, 'the endpoint') ??
    explainAddressErrors(error) ??
    explainHttpError(code, error, isBegun) ??
    error.message;
  const line = `${code === '' ? '' : `${code}: `}${words}`.replace(/\p{Cc}+/gu, ' ').trim();
  return cutTo('deliveries.error', line);
}

function explainHttpError(code: string, error: Error, isBegun: boolean): string | null {
  const { address, port } = error as { address?: string; port?: number };
  if (code === 'ETIMEDOUT' && address !== undefined) return `no connection to ${address}:${port} within 5 s`;
  if (isUpgrade(error))
    return 'the endpoint answered 101 (Switching Protocols), which Ledgerbell did not ask for';
  if (BROKEN_OFF.includes(code)) {
    return isBegun
      ? 'the endpoint broke off its answer'
      : 'the endpoint closed the connection without an answer';
  }
  if (WORDS[code] !== undefined) return WORDS[code];
  // undici's error of this name has no code. Node's has one.
  if (error.name !== 'HTTPParserError' && !code.startsWith('HPE_')) return null;
  if (isHttp2(error)) return 'the endpoint speaks only HTTP/2; Ledgerbell needs HTTP/1.1';
  const [, reason = error.message] = /^(?:Parse Error: |[^(]*\()(.+?)\)?$/.exec(error.message) ?? [];
  return `the answer of the endpoint is not HTTP/1.1 (${reason})`;
}

/** undici's error for an answer of 101. */
const isUpgrade = ({ message }: Error) => message === 'bad upgrade';

/** The first frame of an HTTP/2 server: SETTINGS (type 4) of a length below 256, or GOAWAY (type 7) (RFC 9113, section 3.4). */
function isHttp2(error: Error): boolean {
  const { data = '' } = error as { data?: string };
  return data.startsWith('\0\0') && [4, 7].includes(data.charCodeAt(3));
}
