import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import { chooseSocket, type RunningServer, runServer } from '../../src/servers/embedded/child.ts';
import { type MysqlBinaries, prepareMysql } from '../../src/servers/embedded/mysql.ts';
import { findMysql } from '../../src/servers/embedded/provision.ts';
import { documentOf, reasonOf, runHere } from '../cli/command.ts';
import { ask } from '../servers/embedded/clients.ts';
import { reservePort } from '../support/reserved-port.ts';

/** TLS to this file's own MySQL or MariaDB, with certificates of two authorities that openssl creates. */
const directory = mkdtempSync(join(tmpdir(), 'ledgerbell-tls-'));
const PASSWORD = randomBytes(12).toString('hex');
const path = (name: string) => join(directory, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });

function makeAuthority(name: string): void {
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  openssl(...request, '-keyout', `${name}.key`, '-out', `${name}.pem`);
}

/** A certificate for a server of this name, signed by the authority. */
function certify(host: string, authority: string): void {
  writeFileSync(path(`${host}.ext`), `subjectAltName=DNS:${host}`);
  const request = ['req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${host}`];
  openssl(...request, '-keyout', `${host}.key`, '-out', `${host}.csr`);
  const signing = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`, '-CAcreateserial', '-days', '2'];
  openssl('x509', '-req', '-in', `${host}.csr`, ...signing, '-extfile', `${host}.ext`, '-out', `${host}.pem`);
}

let binaries: MysqlBinaries;
let server: RunningServer | undefined;
let port: number;
let closedPort: number;

beforeAll(async () => {
  makeAuthority('right');
  makeAuthority('wrong');
  certify('localhost', 'right');
  certify('db.example', 'right');
  const found = await findMysql();
  if (found === null) throw new Error('the machine has no MySQL');
  binaries = found;
  port = await reservePort();
  closedPort = await reservePort();
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Starts the server on a port, with the certificate for this host name; null: without TLS. */
async function start(host: string | null): Promise<void> {
  const socket = chooseSocket(directory, 'mysql');
  const prepared = await prepareMysql(directory, { binaries, socket, password: PASSWORD });
  const withoutTls = binaries.flavor === 'mariadb' ? ['--skip-ssl'] : ['--tls-version='];
  const tls =
    host === null ? withoutTls : [`--ssl-cert=${path(`${host}.pem`)}`, `--ssl-key=${path(`${host}.key`)}`];
  const listen = ['--skip-networking=0', '--bind-address=127.0.0.1', `--port=${port}`];
  const command = [...prepared.command, ...listen, ...tls] as [string, ...string[]];
  server = await runServer(directory, { ...prepared, command }, { announce: () => {} });
  await ask(
    prepared.url,
    `CREATE USER IF NOT EXISTS 'tls'@'%' IDENTIFIED BY '${PASSWORD}'; GRANT ALL ON ledgerbell.* TO 'tls'@'%'`,
  );
}

const urlWith = (parameters: string) => `mysql://tls:${PASSWORD}@localhost:${port}/ledgerbell${parameters}`;
const verifying = (mode: string, authority: string) => `?ssl-mode=${mode}&ssl-ca=${path(`${authority}.pem`)}`;

/** The cipher of a connection: empty when it is not encrypted. */
const cipher = (parameters: string) => cipherAt(urlWith(parameters));

async function cipherAt(url: string): Promise<string> {
  const database = await createDataSource(url, { poolSize: 1 }).initialize();
  try {
    const [row] = await database.query<{ Value: string }[]>("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    return row?.Value ?? '';
  } finally {
    await database.destroy();
  }
}

describe('a connection to MySQL', () => {
  it('is encrypted and verified as ssl-mode requires', async () => {
    await start('localhost');
    expect(await cipher('')).toBe('');
    expect(await cipher('?ssl-mode=required')).not.toBe('');
    expect(await cipher(verifying('required', 'wrong')), 'as MySQL’s own client').not.toBe('');
    for (const mode of ['verify-ca', 'verify-identity']) {
      expect(await cipher(verifying(mode, 'right')), mode).not.toBe('');
      await expect(cipher(verifying(mode, 'wrong')), mode).rejects.toThrow(
        /TLS connection to MySQL failed \(.*\): check ssl-ca/,
      );
    }
  });

  it('to a server of another name is refused only with verify-identity', async () => {
    await start('db.example');
    expect(await cipher('?ssl-mode=required')).not.toBe('');
    expect(await cipher(verifying('verify-ca', 'right'))).not.toBe('');
    await expect(cipher(verifying('verify-identity', 'right'))).rejects.toThrow(/localhost.*db\.example/);
  });

  it('to a server without TLS is refused with every ssl-mode', async () => {
    await start(null);
    expect(await cipher('')).toBe('');
    for (const parameters of ['?ssl-mode=required', verifying('verify-ca', 'right')]) {
      await expect(cipher(parameters)).rejects.toThrow(
        'MySQL offers no TLS, and the ssl-mode in DATABASE_URL requires it.',
      );
    }
  });

  it('is encrypted and verified for each of several hosts', async () => {
    await start('localhost');
    const several = (parameters: string) => {
      const at = `localhost:${port}`;
      return urlWith(parameters).replace(at, `localhost:${closedPort},${at}`);
    };
    expect(await cipherAt(several(verifying('verify-identity', 'right')))).not.toBe('');
    await expect(cipherAt(several(verifying('verify-identity', 'wrong')))).rejects.toThrow(
      /^None of the hosts .* localhost:\d+ cannot be reached \(ECONNREFUSED\); localhost:\d+ cannot be reached \(HANDSHAKE_SSL_ERROR\)\.$/,
    );
  });

  it('with verify-identity requires a host name to compare', () => {
    const address = urlWith(verifying('verify-identity', 'right')).replace('localhost', '127.0.0.1');
    expect(() => createDataSource(address)).toThrow('must have a host name, not an address');
  });

  it('is encrypted for commands including migrate, which say why a connection is refused', async () => {
    await start('localhost');
    const env = { SECRET_KEY: randomBytes(32).toString('base64'), REDIS_URL: 'redis://127.0.0.1:1' };
    const right = { ...env, DATABASE_URL: urlWith(verifying('verify-identity', 'right')) };
    expect(documentOf(await runHere(['migrate', '--json'], right)).migrated).not.toEqual([]);
    expect(documentOf(await runHere(['migrate', '--json'], right))).toEqual({ migrated: [] });
    const wrong = { ...env, DATABASE_URL: urlWith(verifying('verify-ca', 'wrong')) };
    expect(reasonOf(await runHere(['migrate'], wrong))).toMatch(
      /^error: The TLS connection to MySQL failed \(/,
    );
  });
});
