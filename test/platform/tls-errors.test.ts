import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reservePort } from '../support/reserved-port.ts';

/** Real TLS servers, with certificates that openssl creates. Ledgerbell trusts only "Root". */
const directory = mkdtempSync(join(tmpdir(), 'ledgerbell-tls-errors-'));
const FIXTURE = join(import.meta.dirname, 'tls-errors.fixture.ts');
const servers: Server[] = [];

const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
const read = (name: string) => readFileSync(join(directory, name), 'utf8');
const write = (name: string, text: string) => writeFileSync(join(directory, name), text);

const LONG = ['20200101000000Z', '20990101000000Z'] as const;

/** Makes a certificate. `by`: the authority, or its own name for a self-signed one. */
function certify(
  name: string,
  {
    by,
    subject = name,
    extensions,
    days: [from, to] = LONG,
  }: { by: string; subject?: string; extensions: string; days?: readonly [string, string] },
): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', ...key, '-subj', `/CN=${subject}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
  write(`${name}.ext`, extensions);
  const signer = by === name ? ['-selfsign'] : ['-cert', `${by}.pem`];
  const signing = [
    ...signer,
    '-keyfile',
    `${by}.key`,
    '-startdate',
    from,
    '-enddate',
    to,

    '-notext',
  ];
  openssl(
    'ca',
    '-batch',
    '-config',
    'ca.cnf',
    ...signing,
    '-extfile',
    `${name}.ext`,
    '-in',
    `${name}.csr`,
    '-out',
    `${name}.pem`,
  );
}

const AUTHORITY = 'basicConstraints=critical,CA:TRUE';
const LOCALHOST = 'subjectAltName=DNS:localhost';

beforeAll(() => {
  write('index.txt', '');
  write(
    'ca.cnf',
    '[ca]\ndefault_ca=it\n[it]\ndatabase=index.txt\nnew_certs_dir=.\ndefault_md=sha256\nunique_subject=no\nrand_serial=yes\npolicy=any\n[any]\ncommonName=supplied\n',
  );
  certify('Root', { by: 'Root', extensions: AUTHORITY });
  certify('Middle', { by: 'Root', extensions: AUTHORITY });
  certify('Old', { by: 'Root', extensions: AUTHORITY, days: ['20240101000000Z', '20260201000000Z'] });
  certify('Stranger', { by: 'Stranger', extensions: AUTHORITY });
  certify('good', { by: 'Root', extensions: LOCALHOST });
  certify('self', { by: 'self', extensions: LOCALHOST });
  certify('expired', { by: 'Root', extensions: LOCALHOST, days: ['20250101000000Z', '20260131000000Z'] });
  certify('early', { by: 'Root', extensions: LOCALHOST, days: ['20980201000000Z', '20990101000000Z'] });
  certify('under-middle', { by: 'Middle', extensions: LOCALHOST });
  certify('under-old', { by: 'Old', extensions: LOCALHOST });
  certify('under-stranger', { by: 'Stranger', extensions: LOCALHOST });
  certify('other', { by: 'Root', extensions: 'subjectAltName=DNS:other.example,DNS:www.other.example' });
  certify('rude', { by: 'Root', extensions: `subjectAltName=DNS:${'x'.repeat(250)}.example` });
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(directory, { recursive: true, force: true });
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.on('connection', (socket: Socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

/** A server with this certificate, which sends these after it. */
const secure = (name: string, { also = [], ...options }: TlsOptions & { also?: string[] } = {}) =>
  listen(
    createTlsServer({
      key: read(`${name}.key`),
      cert: [name, ...also].map((it) => read(`${it}.pem`)).join(''),
      ...options,
    }),
  );

/** A server that answers the first bytes of a handshake with these. */
const bare = (...bytes: number[]) =>
  listen(createServer((socket) => socket.once('data', () => socket.end(Buffer.from(bytes)))));

const alert = (number: number) => bare(21, 3, 3, 0, 2, 2, number);

/** How connecting to the origins fails. */
async function errorsOf(kind: 'post' | 'http' | 's3', origins: string[]): Promise<(string | null)[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', FIXTURE, kind, ...origins],
    {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: join(directory, 'Root.pem') },
    },
  );
  return JSON.parse(stdout);
}

const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;

/** The servers, and what is said of them. A regular expression where versions of Node name the error differently. */
const CASES: [() => Promise<string>, string | RegExp][] = [
  [
    () => secure('good', old),
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: the endpoint offers only TLS 1.1 or older; TLS 1.2 or later is needed',
  ],
  [
    // A ServerHello of TLS 1.0, as servers older than alerts about versions send it.
    () => bare(22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1, ...Array(32).fill(7), 0, 0, 0x2f, 0),
    'ERR_SSL_UNSUPPORTED_PROTOCOL: the endpoint offers only TLS 1.1 or older; TLS 1.2 or later is needed',
  ],
  [
    () => secure('under-middle'),
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE: the endpoint sends no intermediate certificate (of "Middle"), or its authority is not trusted',
  ],
  [() => secure('expired'), 'CERT_HAS_EXPIRED: the certificate of the endpoint expired on 2026-01-31'],
  [
    () => secure('under-old', { also: ['Old'] }),
    'CERT_HAS_EXPIRED: the authority’s certificate that the endpoint sends expired on 2026-02-01',
  ],
  [
    () => secure('early'),
    'CERT_NOT_YET_VALID: the certificate of the endpoint is not valid before 2098-02-01',
  ],
  [
    () => secure('other'),
    'ERR_TLS_CERT_ALTNAME_INVALID: the certificate is for other.example and 1 more, not for localhost',
  ],
  [() => secure('self'), 'DEPTH_ZERO_SELF_SIGNED_CERT: the certificate of the endpoint is self-signed'],
  [
    () => secure('under-stranger', { also: ['Stranger'] }),
    'SELF_SIGNED_CERT_IN_CHAIN: the certificate of the endpoint is signed by an authority that is not trusted (of "Stranger")',
  ],
  [
    () => listen(createHttpServer((_request, response) => response.end())),
    'ERR_SSL_WRONG_VERSION_NUMBER: the endpoint does not speak TLS on this port',
  ],
  [
    () => bare(22, 3, 3, 255, 255, 1),
    /^ERR_SSL_(PACKET|DATA)_LENGTH_TOO_LONG: the endpoint does not speak TLS on this port$/,
  ],
  [
    () => secure('good', { requestCert: true, maxVersion: 'TLSv1.2', ca: read('Root.pem') }),
    /^ERR_SSL_SSL\S+_ALERT_HANDSHAKE_FAILURE: the endpoint refused the handshake \(alert 40\): it shares no cipher with Ledgerbell, or asks for a client certificate$/,
  ],
  [
    () => alert(116),
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: the endpoint asks for a client certificate, which Ledgerbell does not have',
  ],
  [() => alert(42), /^ERR_SSL_SSL\S+_ALERT_BAD_CERTIFICATE: the endpoint asks for a client certificate, /],
  [
    () => alert(112),
    'ERR_SSL_TLSV1_UNRECOGNIZED_NAME: the endpoint refused the handshake (alert 112): it does not know this host name',
  ],
  [
    () => alert(71),
    'ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY: the endpoint refused the TLS connection (alert 71, insufficient security)',
  ],
  [() => alert(10), /^ERR_SSL_SSL\S+_ALERT_UNEXPECTED_MESSAGE: .* \(alert 10, unexpected message\)$/],
  [
    // A ServerHello with a cipher that was not offered.
    () => bare(22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3, ...Array(32).fill(7), 0, 0xff, 0xff, 0),
    /^ERR_SSL_\w+_CIPHER_RETURNED: the TLS connection to the endpoint failed: \w+ cipher returned$/,
  ],
];

describe('a failed POST', () => {
  let errors: (string | null)[] = [];
  beforeAll(async () => {
    errors = await errorsOf('post', await Promise.all(CASES.map(([start]) => start())));
  });

  it.each(CASES.map(([, words], at) => ({ words, at })))('says $words', ({ words, at }) => {
    expect(errors[at]).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
    expect(errors[at]).not.toMatch(/[\n\r]/);
  });
});

it('an endpoint that asks for a client certificate with TLS 1.3 is found out, although the handshake is over by then', async () => {
  const port = await reservePort();
  const certificate = ['-key', 'good.key', '-cert', 'good.pem'];
  const server = spawn(
    'openssl',
    ['s_server', '-accept', `127.0.0.1:${port}`, ...certificate, '-Verify', '1', '-tls1_3'],
    { cwd: directory, stdio: ['pipe', 'pipe', 'ignore'] },
  );
  try {
    await once(server.stdout, 'data');
    const origin = `https://localhost:${port}`;
    const words = 'asks for a client certificate, which Ledgerbell does not have';
    expect(await errorsOf('post', [origin])).toEqual([
      `ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: the endpoint ${words}`,
    ]);
    expect(await errorsOf('http', [origin])).toEqual([expect.stringContaining(`localhost:${port} ${words}`)]);
  } finally {
    server.kill();
  }
});

it('a certificate that is for the host, with its intermediate certificate, is accepted', async () => {
  const server = createHttpsServer(
    { key: read('under-middle.key'), cert: read('under-middle.pem') + read('Middle.pem') },
    (_request, response) => response.end('x'),
  );
  const origin = await listen(server);
  expect(await errorsOf('post', [origin])).toEqual([null]);
  expect(await errorsOf('http', [origin])).toEqual(['no error']);
});

it('the text is one line of at most 255 characters, whatever the certificate names', async () => {
  const [error] = await errorsOf('post', [await secure('rude')]);
  expect(error).toMatch(/^ERR_TLS_CERT_ALTNAME_INVALID: the certificate is for x{80}, not for localhost$/);
});

it.each(['http', 's3'] as const)('a source (%s) says the same words', async (kind) => {
  const origins = await Promise.all([secure('expired'), secure('under-middle'), secure('good', old)]);
  const [expired, leaf, tooOld] = await errorsOf(kind, origins);
  const [a = '', b = '', c = ''] = origins.map((origin) => new URL(origin).host);
  expect(expired).toContain(`The certificate of ${a} expired on 2026-01-31 (CERT_HAS_EXPIRED).`);
  expect(leaf).toContain(
    `${b} sends no intermediate certificate (of "Middle"), or its authority is not trusted`,
  );
  expect(tooOld).toMatch(
    new RegExp(`^${c} offers only TLS 1.1 or older; TLS 1.2 or later is needed \\(E\\S+\\)\\.`),
  );
});
