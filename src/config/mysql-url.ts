import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseServerUrl, type ServerUrl } from './server-url.ts';

const FORM = {
  protocols: ['mysql:'],
  path: /^\/[^/]+$/,
  example: 'mysql://user:password@host:3306/database',
  parameters: ['ssl-mode', 'ssl-ca', 'socketPath'],
};

/** TLS options of mysql2. */
interface Tls {
  rejectUnauthorized: boolean;
  verifyIdentity: boolean;
  ca?: string;
}

/** MySQL's address from DATABASE_URL. `tls` null: the connection is not encrypted. */
export type MysqlUrl = ServerUrl & { tls: Tls | null };

/**
 * Parses `mysql://user:password@host:3306/database`, with `?socketPath=FILE`, or with `?ssl-mode=MODE&ssl-ca=FILE`, and reads the
 * certificates in `ssl-ca`. The modes mean what they mean in MySQL's own `--ssl-mode`:
 * https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode
 * @throws {Error} that says what DATABASE_URL must be, without any value of it.
 */
export function parseMysqlUrl(text: string): MysqlUrl {
  const url = parseServerUrl(text, FORM);
  return { ...url, tls: readTls(url) };
}

function readTls({ host, socketPath, parameter }: ServerUrl): Tls | null {
  const mode = parameter('ssl-mode');
  const caFile = parameter('ssl-ca');
  if (mode === null) {
    if (caFile !== null)
      throw new Error('must have ssl-mode=verify-ca or ssl-mode=verify-identity beside ssl-ca');
    return null;
  }
  if (socketPath !== null) throw new Error('must have either socketPath or ssl-mode, not both');
  const ca = caFile === null ? null : readCertificates(caFile);
  if (mode === 'required') return { rejectUnauthorized: false, verifyIdentity: false };
  if (mode !== 'verify-ca' && mode !== 'verify-identity')
    throw new Error('must have required, verify-ca or verify-identity as its ssl-mode');
  // MySQL's client requires this too. It trusts no authorities of its own.
  if (ca === null)
    throw new Error(
      `must have ssl-ca=FILE beside ssl-mode=${mode}: the authorities that may certify the server, in PEM`,
    );
  // For an address, mysql2 would compare the certificate with the name "localhost".
  if (mode === 'verify-identity' && isIP(host) !== 0)
    throw new Error('must have a host name, not an address, with ssl-mode=verify-identity');
  return { rejectUnauthorized: true, verifyIdentity: mode === 'verify-identity', ca };
}

function readCertificates(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    // Node ignores what is not a certificate, and would then say of every server that its authority is unknown.
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    const code =
      error instanceof Error && 'syscall' in error && 'code' in error
        ? String(error.code)
        : 'it is no certificate';
    throw new Error(`must have a readable PEM file of certificates as its ssl-ca (${code})`);
  }
}
