import { spawn } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createPoster, type Poster } from '../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import type { Resolve } from '../../src/platform/addresses/resolver.ts';
import { createConnector, explainAddressErrors } from '../../src/platform/connector.ts';
import { TIME_LIMITS, toSourceError } from '../../src/sources/connectors/connection-errors.ts';
import { reservePort } from '../support/reserved-port.ts';

const RECEIVER = `
require('node:http').createServer((_, response) => response.end('far')).listen(
  { host: '127.0.0.1', port: 0, backlog: 1 }, function () { console.log(this.address().port); });`;

/** How many connections the kernel completes for a process that does not accept them. */
const BACKLOG = 2;

/** A receiver whose connections take about a second, as if it were far away: its process does not accept, and the packets are sent again. */
async function startFarReceiver(): Promise<{ port: number; answerIn(milliseconds: number): void }> {
  const child = spawn(process.execPath, ['-e', RECEIVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const port = Number(line);
  child.kill('SIGSTOP');
  const waiting: Socket[] = Array.from({ length: BACKLOG }, () => connect(port, '127.0.0.1'));
  onTestFinished(() => waiting.forEach((socket) => void socket.destroy()));
  await Promise.all(waiting.map((socket) => once(socket, 'connect')));
  return { port, answerIn: (milliseconds) => void setTimeout(() => child.kill('SIGCONT'), milliseconds) };
}

let poster: Poster;
afterEach(() => poster?.close());

function guardOf(addresses: readonly string[]) {
  const found = addresses.map(
    (address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
  );
  const resolve: Resolve = (_name, _options, answer) => answer(null, found as never);
  return createAddressGuard({ allow: ['127.0.0.0/8', '::1/128'], resolve });
}

function post(port: number, addresses: readonly string[], totalTimeout = 10_000) {
  const guard = guardOf(addresses);
  poster = createPoster({ guard, totalTimeout });
  return poster.post({ origin: `http://far.example:${port}`, path: '/', headers: {}, body: '{}' });
}

/** Connects as for a webhook, with another timeout. */
function connectTo(port: number, addresses: readonly string[], timeout: number, protocol = 'http:') {
  const connector = createConnector({ timeout, lookup: guardOf(addresses).lookup });
  const target = { protocol, hostname: 'far.example', host: `far.example:${port}`, port: `${port}` };
  return new Promise<Socket>((resolve, reject) => {
    connector(target, (error, socket) => {
      if (error !== null) return reject(error);
      onTestFinished(() => void socket.destroy());
      resolve(socket);
    });
  });
}

/** How many connections the kernel is trying to open to this port. */
function openAttempts(port: number): number {
  const SYN_SENT = '02';
  const to = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/self/net/tcp', 'utf8').split('\n');
  return lines.filter((line) => line.includes(`:${to} ${SYN_SENT} `)).length;
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer((socket) => void socket.on('error', () => {})).listen(port, host);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return server;
}

describe('an endpoint with several addresses', () => {
  it('is reached at the first one although that takes longer than Node waits', async () => {
    const { port, answerIn } = await startFarReceiver();
    // After the quarter of a second that Node waits, and well before the kernel sends the packet again, after a second.
    answerIn(300);
    expect(await post(port, ['127.0.0.1', '127.0.0.2'])).toMatchObject({ status: 200, body: 'far' });
  });

  it('is reached at the last one if the others take too long, all of them within five seconds', async () => {
    const silent = await startFarReceiver();
    const began = performance.now();
    const answer = await post(silent.port, ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2'], 30_000);
    expect(answer.status).toBeNull();
    expect(answer.error).toContain(`ECONNREFUSED 127.0.0.2:${silent.port}`);
    // With five seconds for each it would be 15.
    expect(performance.now() - began).toBeLessThan(14_000);
  });

  it('is reached at the first one after more than two seconds although the second one refuses', async () => {
    const { port, answerIn } = await startFarReceiver();
    answerIn(2_100);
    const socket = await connectTo(port, ['127.0.0.1', '127.0.0.2'], 60_000);
    expect(socket.remoteAddress).toBe('127.0.0.1');
  });

  it('is reached at the second one while the first one is silent, and keeps no other attempt open', async () => {
    const { port } = await startFarReceiver();
    await listen('127.0.0.2', port);
    const socket = await connectTo(port, ['127.0.0.1', '127.0.0.2', '127.0.0.3'], 60_000);
    expect(socket.remoteAddress).toBe('127.0.0.2');
    await vi.waitUntil(() => openAttempts(port) === 0);
  });

  it('gets no attempt that outlasts the timeout, and the error names each address', async () => {
    const { port } = await startFarReceiver();
    const failed = await connectTo(port, ['127.0.0.1', '127.0.0.2', '127.0.0.1'], 1_000).catch((it) => it);
    expect(explainAddressErrors(failed)).toBe(
      `no address could be connected to: ECONNREFUSED 127.0.0.2:${port}, ETIMEDOUT 127.0.0.1:${port}, ETIMEDOUT 127.0.0.1:${port}`,
    );
    await vi.waitUntil(() => openAttempts(port) === 0);
  });

  it('is given up within the same time if it accepts and then says nothing of TLS', async () => {
    const server = await listen('127.0.0.1', 0);
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'connection');
    const failed = await connectTo(port, ['127.0.0.1'], 1_000, 'https:').catch((it) => it);
    expect(failed.message).toBe(`connect ETIMEDOUT far.example:${port}`);
    const [socket] = (await accepted) as [Socket];
    socket.resume();
    await vi.waitUntil(() => socket.destroyed);
  });

  it('gets its families by turns, and at most 20 attempts', async () => {
    const port = await reservePort();
    const many = Array.from({ length: 4_000 }, (_, i) => `127.1.${i >> 8}.${i & 255}`);
    const failed = await connectTo(port, [...many, '::1'], 60_000).catch((it) => it);
    const tried = (failed as AggregateError).errors.map((it: { address: string }) => it.address);
    expect(tried).toEqual(['127.1.0.0', '::1', ...many.slice(1, 19)]);
  });

  it('is sent nothing at an address that the guard refuses', async () => {
    const server = await listen('127.0.0.1', 0);
    const { port } = server.address() as AddressInfo;
    expect(await post(port, ['10.0.0.1', '127.0.0.1'])).toMatchObject({ posts: 1 });
    expect(await post(port, ['10.0.0.1', '10.0.0.2'])).toMatchObject({ posts: 0, refused: true });
  });

  it('has all its addresses in the error', async () => {
    const port = await reservePort();
    const { status, error } = await post(port, ['127.0.0.1', '::1']);
    expect(status).toBeNull();
    expect(error).toMatch(
      new RegExp(
        `^ECONNREFUSED: no address could be connected to: ECONNREFUSED 127\\.0\\.0\\.1:${port}, E\\w+ \\[::1\\]:${port}$`,
      ),
    );
  });
});

it('the owner of a source reads the addresses too', async () => {
  const port = await reservePort();
  const lookup = (_name: string, _options: object, answer: (...args: unknown[]) => void) =>
    answer(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ]);
  const socket = connect({ host: 'bank.example', port, lookup: lookup as never });
  const [error] = await once(socket, 'error').catch((it: unknown) => [it]);
  expect(explainAddressErrors(error)).toBe(
    `no address could be connected to: ECONNREFUSED 127.0.0.1:${port}, ECONNREFUSED 127.0.0.2:${port}`,
  );
  expect(toSourceError(error, 'bank.example:22', TIME_LIMITS)).toMatchObject({
    message: expect.stringMatching(
      /^bank\.example:22 could not be reached: no address could be connected to: /,
    ),
  });
});
