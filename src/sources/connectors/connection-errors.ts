import { RefusedAddressError } from '../../platform/address-guard.ts';
import { explainAddressErrors } from '../../platform/connector.ts';
import { explainTlsError, firstErrorOf } from '../../platform/tls-errors.ts';
import { SourceError } from './connector.ts';

/** Explains in one sentence why a connection failed, and what to do about it. */

const SECOND = 1_000;

/** In milliseconds. */
export interface TimeLimits {
  /** The time for connecting, including encryption and sign-in. */
  connect: number;
  /** How long the server may send nothing while an answer is expected. */
  idle: number;
}

export const TIME_LIMITS: TimeLimits = { connect: 15 * SECOND, idle: 30 * SECOND };

const CONNECT_TIMEOUTS = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'];
const IDLE_TIMEOUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];
const BROKEN_OFF = [
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'HPE_INVALID_EOF_STATE',
];

/** The server sent nothing for too long. */
export const idleError = (peer: string, { idle }: TimeLimits) =>
  new SourceError(
    `${peer} sent nothing for ${idle / SECOND} s, so the connection was closed. The next run tries again.`,
  );

/** The connection took too long. */
export const connectTimeoutError = (peer: string, { connect }: TimeLimits) =>
  new SourceError(
    `${peer} could not be reached within ${connect / SECOND} s. Check host and port, and whether its firewall lets this server in.`,
  );

/** The connection ended before the transfer did. */
export const brokenOffError = (peer: string) =>
  new SourceError(`The connection to ${peer} broke off. The next run tries again.`);

/**
 * @param peer the server as the settings name it, such as "sftp.bank.example:22".
 * @returns a SourceError for the owner of the source. An error that is already a SourceError, or is unknown, is returned unchanged.
 */
export function toSourceError(error: unknown, peer: string, limits: TimeLimits): unknown {
  if (error instanceof SourceError) return error;
  if (error instanceof RefusedAddressError) return new SourceError(error.message);
  const several = explainAddressErrors(error);
  if (several !== null) {
    return new SourceError(
      `${peer} could not be reached: ${several}. Check host and port, and whether its firewall lets this server in.`,
    );
  }
  const coded = findCoded(error instanceof Error ? firstErrorOf(error) : error);
  const code = coded?.code ?? '';
  if (code === 'ENOTFOUND') {
    return new SourceError(`The host name of ${peer} does not exist in DNS. Check its spelling.`);
  }
  if (code === 'EAI_AGAIN') {
    return new SourceError(`DNS gave no answer for the host name of ${peer}. The next run tries again.`);
  }
  if (code === 'ECONNREFUSED') {
    return new SourceError(
      `${peer} refuses connections. Check the port, and whether its firewall lets this server in.`,
    );
  }
  if (CONNECT_TIMEOUTS.includes(code)) return connectTimeoutError(peer, limits);
  if (IDLE_TIMEOUTS.includes(code)) return idleError(peer, limits);
  if (BROKEN_OFF.includes(code)) return brokenOffError(peer);
  const words = coded === null ? null : explainTlsError(coded, peer);
  if (words !== null) {
    const sentence = words.startsWith('the ') ? `T${words.slice(1)}` : words;
    return new SourceError(`${sentence} (${code}). Check the host and port, and what the server sends.`);
  }
  if (code.startsWith('HPE_')) {
    return new SourceError(`${peer} does not speak HTTP as expected (${code}). Check the port.`);
  }
  return error;
}

/** The code of an error, or of the first error in an AggregateError, because Node tries several addresses of one name. */
export const codeOf = (error: unknown): string => findCoded(error)?.code ?? '';

function findCoded(error: unknown): (Error & { code: string }) | null {
  if (error instanceof AggregateError && error.errors.length > 0) return findCoded(error.errors[0]);
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error as Error & { code: string };
  return findCoded(error.cause);
}
