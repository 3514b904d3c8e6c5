import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A self-signed certificate for 127.0.0.1, made by openssl. */
export interface TestCertificate {
  cert: string;
  key: string;
  certFile: string;
  keyFile: string;
  /** As `getPeerX509Certificate` of a client shows it. */
  fingerprint: string;
}

/** @param folder in which the files are made. A second call replaces them. */
export function makeCertificate(folder: string): TestCertificate {
  mkdirSync(folder, { recursive: true });
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const names = ['-days', '2', '-subj', '/CN=ops', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...request, ...names, '-keyout', keyFile, '-out', certFile], { stdio: 'pipe' });
  const cert = readFileSync(certFile, 'utf8');
  return {
    cert,
    key: readFileSync(keyFile, 'utf8'),
    certFile,
    keyFile,
    fingerprint: new X509Certificate(cert).fingerprint256,
  };
}
