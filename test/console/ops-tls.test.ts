import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startOps } from '../../src/console/server.ts';
import type { Config } from '../../src/platform/config.ts';
import { makeCertificate, type TestCertificate } from '../support/certificate.ts';
import { useService } from '../support/service.ts';

/** The operators' listener with a certificate, and its warning without one. */

/** No process with the role api runs here. */
const nowhere = () => undefined;

const service = useService({ roles: ['importer'] });
const directory = mkdtempSync(join(tmpdir(), 'lb-ops-tls-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const first = makeCertificate(join(directory, 'first'));
const renewed = makeCertificate(join(directory, 'renewed'));
/** Options of a client that trusts both. */
const trust = { ca: [first.cert, renewed.cert] };

function runtimeWith(config: Partial<Config>, log = service.runtime.log) {
  const { runtime } = service;
  return { ...runtime, log, config: { ...runtime.config, ...config } };
}

async function start(config: Partial<Config>, log = service.runtime.log) {
  const runtime = runtimeWith({ opsPort: 0, ...config }, log);
  const ops = await startOps(runtime, nowhere);
  return { ...ops, address: new URL(ops.url) };
}

/** @param trusted the certificate that the client trusts. @returns the status of the answer. */
async function ask(url: string, { cert }: TestCertificate): Promise<number | undefined> {
  const [response] = await once(request(url, { ca: cert, agent: false }).end(), 'response');
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

/** A connection with a finished handshake. */
async function shakeHands({ port }: URL, options: object): Promise<TLSSocket> {
  const socket = connect({ port: Number(port), host: '127.0.0.1', ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

async function textOf(socket: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const part of socket) text += part;
  return text;
}

describe("the operators' listener with a certificate", () => {
  let ops: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    ops = await start({ opsTls: first });
  });

  it('answers over HTTPS, at the URL that it prints', async () => {
    expect(ops.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await ask(`${ops.url}/healthz`, first)).toBe(200);
    await expect(ask(`${ops.url}/healthz`, renewed)).rejects.toThrow(/self-signed certificate/);
  });

  it('has a listener on loopback for the commands of this machine, with the API and without the console', async () => {
    expect(ops.commandsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const answer = async (path: string) => {
      const response = await fetch(`${ops.commandsUrl}${path}`);
      return [response.status, ((await response.json()) as { type: string }).type];
    };
    // No process with the role api runs here.
    expect(await answer('/v1/verdict')).toEqual([503, '/problems/no-api-process']);
    expect(await answer('/ops')).toEqual([503, '/problems/no-api-process']);
  });

  it('does not answer plain HTTP', async () => {
    await expect(fetch(`http://${ops.address.host}/healthz`)).rejects.toThrow('fetch failed');
    const socket = connectTcp(Number(ops.address.port), '127.0.0.1');
    socket.write('GET /healthz HTTP/1.1\r\nHost: ops\r\n\r\n');
    // An alert of TLS, or nothing.
    const answer = textOf(socket).catch(() => '');
    expect(await answer).not.toContain('HTTP/');
    expect(await ask(`${ops.url}/healthz`, first)).toBe(200);
  });

  it('speaks TLS 1.2 or later', async () => {
    const { address } = ops;
    expect((await shakeHands(address, { ...trust, maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2');
    expect((await shakeHands(address, trust)).getProtocol()).toBe('TLSv1.3');
    const old = { ...trust, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(shakeHands(address, old)).rejects.toThrow(/protocol/i);
  });

  it('answers broken requests as without TLS', async () => {
    const socket = await shakeHands(ops.address, trust);
    socket.write('MARKER\r\n\r\n');
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/);
  });

  it('gives new connections a renewed certificate, and keeps the open ones', async () => {
    const open = await shakeHands(ops.address, trust);
    ops.use(runtimeWith({ opsTls: renewed }));
    const fingerprints = [open, await shakeHands(ops.address, trust)].map(
      (socket) => socket.getPeerX509Certificate()?.fingerprint256,
    );
    expect(fingerprints).toEqual([first.fingerprint, renewed.fingerprint]);
    open.write('GET /healthz HTTP/1.1\r\nHost: ops\r\nConnection: close\r\n\r\n');
    expect(await textOf(open)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('stops although a client has not finished its handshake', async () => {
    const socket = connectTcp(Number(ops.address.port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    const used = await shakeHands(ops.address, trust);
    const closed = Promise.all([once(socket, 'close'), once(used, 'close')]);
    used.resume();
    await ops.stop();
    await closed;
  }, 12_000);
});

describe("the start of an operators' listener", () => {
  const SENTENCE =
    "Operators' tokens and passwords cross the network in plain text, because OPS_HOST is 0.0.0.0 and there is no TLS. Set OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE, or OPS_BEHIND_TLS=true if a proxy in front does TLS.";
  const open = { opsHost: '0.0.0.0', admin: { user: 'ops', password: 'twelve-letters' } };
  it.each([
    ['with an address that other machines reach', open, [SENTENCE]],
    ['on loopback', {}, []],
    ['behind a proxy with TLS', { ...open, opsBehindTls: true }, []],
    ['with a certificate', { ...open, opsTls: first }, []],
  ])('warns of passwords in plain text once, if there are any: %s', async (_name, config, warnings) => {
    const warned: unknown[] = [];
    const log = Object.create(service.runtime.log, {
      warn: { value: (line: unknown) => warned.push(line) },
    });
    const ops = await start(config, log);
    onTestFinished(() => ops.stop());
    expect(warned).toEqual(warnings);
  });
});
