import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findPlainTextHost, readConfig } from '../../../src/platform/config.ts';
import { makeCertificate } from '../../support/certificate.ts';

const directory = mkdtempSync(join(tmpdir(), 'lb-ops-tls-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const { certFile, keyFile, cert, key } = makeCertificate(join(directory, 'one'));
const other = makeCertificate(join(directory, 'other'));

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function withPassphrase(): string {
  const path = join(directory, 'encrypted.pem');
  execFileSync('openssl', ['pkey', '-in', keyFile, '-aes256', '-passout', 'pass:geheim', '-out', path]);
  return path;
}

/** A certificate whose key is too short for OpenSSL's default security level. */
function makeWeak(): { OPS_TLS_CERT_FILE: string; OPS_TLS_KEY_FILE: string } {
  const [weakCert, weakKey] = [join(directory, 'weak.pem'), join(directory, 'weak.key')];
  const request = ['req', '-x509', '-newkey', 'rsa:512', '-nodes', '-days', '2', '-subj', '/CN=ops'];
  execFileSync('openssl', [...request, '-keyout', weakKey, '-out', weakCert], { stdio: 'pipe' });
  return { OPS_TLS_CERT_FILE: weakCert, OPS_TLS_KEY_FILE: weakKey };
}

describe("the certificate of the operators' listener", () => {
  it('is configured by a certificate, with others of its chain, and its key', () => {
    expect(readConfig({ OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: keyFile }).opsTls).toEqual({
      cert,
      key,
    });
    const chain = write('chain.pem', cert + other.cert);
    expect(readConfig({ OPS_TLS_CERT_FILE: chain, OPS_TLS_KEY_FILE: keyFile }).opsTls?.cert).toBe(
      cert + other.cert,
    );
  });

  const certRule =
    'OPS_TLS_CERT_FILE must be the path of a certificate in PEM, with its intermediate certificates after it.';
  const keyRule = 'OPS_TLS_KEY_FILE must be the path of a private key in PEM, without a passphrase.';
  const weakRule =
    'OPS_TLS_CERT_FILE must be the path of a certificate that OpenSSL accepts: one in its chain is broken, or its key or signature is too weak.';
  it.each([
    [
      'one without the other',
      { OPS_TLS_CERT_FILE: certFile },
      'OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE go together: set both, or neither.',
    ],
    [
      'the other without the one',
      { OPS_TLS_KEY_FILE: keyFile },
      'OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE go together: set both, or neither.',
    ],
    [
      'a missing certificate',
      { OPS_TLS_CERT_FILE: '/MARKER', OPS_TLS_KEY_FILE: keyFile },
      'OPS_TLS_CERT_FILE must be the path of a readable file (ENOENT).',
    ],
    [
      'a folder for the key',
      { OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: directory },
      'OPS_TLS_KEY_FILE must be the path of a readable file (EISDIR).',
    ],
    ['the two exchanged', { OPS_TLS_CERT_FILE: keyFile, OPS_TLS_KEY_FILE: certFile }, certRule],
    ['a certificate as its key', { OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: certFile }, keyRule],
    ['a key with a passphrase', { OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: withPassphrase() }, keyRule],
    [
      'the key of another certificate',
      { OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: other.keyFile },
      'OPS_TLS_KEY_FILE must be the path of the private key of the certificate in OPS_TLS_CERT_FILE: this key belongs to another one.',
    ],
    ['a key that is too short', makeWeak(), weakRule],
    [
      'a chain that breaks off',
      {
        OPS_TLS_CERT_FILE: write('broken.pem', `${cert}${other.cert.slice(0, 200)}\n`),
        OPS_TLS_KEY_FILE: keyFile,
      },
      weakRule,
    ],
  ])('is refused with one line: %s', (_name, env, message) => {
    expect(() => readConfig(env)).toThrow(expect.objectContaining({ name: 'ConfigError', message }));
  });
});

describe('an address that other machines reach', () => {
  const admin = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'twelve-letters' };
  const tls = { OPS_TLS_CERT_FILE: certFile, OPS_TLS_KEY_FILE: keyFile };
  it.each([
    ['0.0.0.0', {}, '0.0.0.0'],
    ['ops.example', { OPS_BEHIND_TLS: 'false' }, 'ops.example'],
    ['0.0.0.0', { OPS_BEHIND_TLS: 'true' }, null],
    ['::', tls, null],
    ['127.0.0.1', {}, null],
    ['localhost', {}, null],
  ])('takes passwords in plain text: %s with %o', (host, env, found) => {
    expect(findPlainTextHost(readConfig({ ...admin, OPS_HOST: host, ...env }))).toBe(found);
  });
});
