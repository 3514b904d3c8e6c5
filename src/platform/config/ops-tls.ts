import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { ConfigError, readText } from './variables.ts';

/** The certificate of the operators' listener. */

/** The certificate and the private key of the operators' listener, both in PEM. */
export interface OpsTls {
  cert: string;
  key: string;
}

/**
 * Reads and checks the two files. The messages contain no path, because somebody may have set OPS_TLS_KEY_FILE to the key itself.
 * @returns `undefined` when neither variable is set.
 * @throws {ConfigError} when one of the two is missing, or a file cannot be read or used, or the key is not that of the certificate.
 */
export function readOpsTls(env: {
  OPS_TLS_CERT_FILE?: string | undefined;
  OPS_TLS_KEY_FILE?: string | undefined;
}): OpsTls | undefined {
  const { OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: keyFile } = env;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new ConfigError('OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE go together: set both, or neither.');
  const cert = readText(certFile, 'OPS_TLS_CERT_FILE');
  const key = readText(keyFile, 'OPS_TLS_KEY_FILE');
  const certificate = attempt(
    () => new X509Certificate(cert),
    'OPS_TLS_CERT_FILE must be the path of a certificate in PEM, with its intermediate certificates after it.',
  );
  const privateKey = attempt(
    () => createPrivateKey(key),
    'OPS_TLS_KEY_FILE must be the path of a private key in PEM, without a passphrase.',
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new ConfigError(
      'OPS_TLS_KEY_FILE must be the path of the private key of the certificate in OPS_TLS_CERT_FILE: this key belongs to another one.',
    );
  attempt(
    () => createSecureContext({ cert, key }),
    'OPS_TLS_CERT_FILE must be the path of a certificate that OpenSSL accepts: one in its chain is broken, or its key or signature is too weak.',
  );
  return { cert, key };
}

function attempt<T>(read: () => T, message: string): T {
  try {
    return read();
  } catch {
    throw new ConfigError(message);
  }
}
