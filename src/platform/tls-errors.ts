import type { DetailedPeerCertificate, PeerCertificate, TLSSocket } from 'node:tls';

/** Says in words why a TLS connection failed. OpenSSL's own texts name lines of its source, and end with a newline. */

interface Failure {
  /** The server, as "the endpoint". */
  peer: string;
  error: Error;
  /** The certificates that the server sent, its own first. Empty: unknown. */
  chain: readonly DetailedPeerCertificate[];
}

type Words = (failure: Failure) => string;

const notTls: Words = ({ peer }) => `${peer} does not speak TLS on this port`;
const tooOld: Words = ({ peer }) => `${peer} offers only TLS 1.1 or older; TLS 1.2 or later is needed`;
const wantsCertificate: Words = ({ peer }) =>
  `${peer} asks for a client certificate, which Ledgerbell does not have`;
const untrusted: Words = ({ peer, chain }) =>
  `the certificate of ${peer} is signed by an authority that is not trusted${issuerOf(chain.at(-1))}`;

/** Words for an error's code without ERR_SSL_, or for the number of an alert of TLS (RFC 8446, section 6). */
const WORDS: Readonly<Record<string, Words>> = {
  CERT_HAS_EXPIRED: (failure) =>
    dated(failure, ({ valid_to: day }) =>
      Date.parse(day) < Date.now() ? `expired on ${dayOf(day)}` : null,
    ) ?? `the certificate of ${failure.peer} or of its authority has expired`,
  CERT_NOT_YET_VALID: (failure) =>
    dated(failure, ({ valid_from: day }) =>
      Date.parse(day) > Date.now() ? `is not valid before ${dayOf(day)}` : null,
    ) ?? `the certificate of ${failure.peer} or of its authority is not valid yet`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ error }) => {
    const { host, cert } = error as { host?: string; cert?: PeerCertificate };
    return `the certificate is for ${namesOf(cert)}, not for ${host}`;
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: ({ peer }) => `the certificate of ${peer} is self-signed`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ({ peer, chain }) =>
    `${peer} sends no intermediate certificate${issuerOf(chain[0])}, or its authority is not trusted`,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  WRONG_VERSION_NUMBER: notTls,
  PACKET_LENGTH_TOO_LONG: notTls,
  DATA_LENGTH_TOO_LONG: notTls, // Node 24 says this instead.
  UNSUPPORTED_PROTOCOL: tooOld,
  ALERT_40: ({ peer }) =>
    `${peer} refused the handshake (alert 40): it shares no cipher with Ledgerbell, or asks for a client certificate`,
  // Ledgerbell has no client certificate, so a server that finds it bad, unknown or missing asks for one.
  ALERT_42: wantsCertificate,
  ALERT_46: wantsCertificate,
  ALERT_48: wantsCertificate,
  ALERT_116: wantsCertificate,
  ALERT_70: tooOld,
  ALERT_112: ({ peer }) => `${peer} refused the handshake (alert 112): it does not know this host name`,
  ALERT_120: ({ peer }) => `${peer} refused the handshake (alert 120): it does not offer HTTP/1.1`,
};

/** Codes that concern the server's certificate (Node's documentation, "TLS/SSL: X509 certificate error codes"). */
const CERTIFICATE_ERROR =
  /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH$|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|UNSPECIFIED$)/;

/**
 * Says on one line what is wrong, without the error's code.
 * @param peer the server, as "the endpoint".
 * @returns null when the error is none of TLS.
 */
export function explainTlsError(error: Error, peer: string): string | null {
  const failure = { peer, error, chain: sentChains.get(error) ?? [] };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CERTIFICATE_ERROR.test(code)) {
    const [message] = error.message.split(';'); // Node 24 adds advice for the command line of Node.
    return oneLine(WORDS[code]?.(failure) ?? `the certificate of ${peer} is not accepted: ${message}`);
  }
  // Read from the message, because the code differs between versions of OpenSSL, or is EPROTO.
  const [, reason] = /:SSL routines:[^:]*:([^:]+)/.exec(error.message) ?? [];
  if (reason === undefined) return null;
  const [, alert] = /SSL alert number (\d+)/.exec(error.message) ?? [];
  const key = alert === undefined ? reason.toUpperCase().replaceAll(' ', '_') : `ALERT_${alert}`;
  const words = WORDS[key]?.(failure);
  if (words !== undefined) return oneLine(words);
  if (alert === undefined) return oneLine(`the TLS connection to ${peer} failed: ${reason}`);
  const name = reason.replace(/^(?:ssl\/tls|sslv3|tlsv13?) (?:alert )?/, '');
  return oneLine(`${peer} refused the TLS connection (alert ${alert}, ${name})`);
}

/** What the server had sent when the connection failed. Node's error does not have it. */
const sentChains = new WeakMap<Error, DetailedPeerCertificate[]>();

/** After an alert that ends a connection of TLS 1.3, undici reports only that the other side closed it. */
const firstErrors = new WeakMap<Error, Error>();

/** The error that ended the connection, when `error` is one that followed from it. */
export const firstErrorOf = (error: Error): Error => firstErrors.get(error) ?? error;

/** Keeps what `explainTlsError` and `firstErrorOf` need. Called for a new socket, before its handshake. */
export function watchTls(socket: TLSSocket): void {
  let certificate: DetailedPeerCertificate | undefined;
  let first: Error | undefined;
  // Before Node's own listener, which checks the certificate and destroys the socket. Not getPeerX509Certificate, which removes the
  // certificate from the socket, so that Node would not find the host's name in it.
  socket.prependOnceListener('secure', () => {
    certificate = socket.getPeerCertificate(true);
  });
  socket.prependListener('error', (error) => {
    if (first !== undefined) return void firstErrors.set(error, first);
    first = error;
    const chain = new Set<DetailedPeerCertificate>(); // A self-signed certificate names itself as its issuer.
    for (let it = certificate; it?.valid_to !== undefined && !chain.has(it); it = it.issuerCertificate) {
      chain.add(it);
    }
    sentChains.set(error, [...chain]);
  });
}

/** The first certificate for which `say` has words, and these. */
function dated({ peer, chain }: Failure, say: (it: PeerCertificate) => string | null): string | null {
  const found = chain.find((it) => say(it) !== null);
  if (found === undefined) return null;
  const whose = found === chain[0] ? `certificate of ${peer}` : `authority’s certificate that ${peer} sends`;
  return `the ${whose} ${say(found)}`;
}

const dayOf = (date: string) => new Date(date).toISOString().slice(0, 10);

function issuerOf(certificate: PeerCertificate | undefined): string {
  const { CN, O } = certificate?.issuer ?? {};
  const name = [CN ?? O ?? []].flat()[0];
  return name === undefined ? '' : ` (of "${name.slice(0, 60)}")`;
}

function namesOf(certificate: PeerCertificate | undefined): string {
  const names = (certificate?.subjectaltname ?? '').match(/(?<=(?:DNS|IP Address):)[^,]+/g) ?? [];
  const [name = certificate?.subject?.CN ?? 'no host'] = names;
  const more = names.length > 1 ? ` and ${names.length - 1} more` : '';
  return `${[name].flat()[0]?.slice(0, 80)}${more}`;
}

/** A certificate may name itself anything. */
const oneLine = (text: string) => text.replace(/\p{C}+/gu, ' ');
