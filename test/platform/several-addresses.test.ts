import { spawn } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPoster, type Poster } from '../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import type { Resolve } from '../../src/platform/addresses/resolver.ts';
import { explainAddressErrors } from '../../src/platform/connector.ts';
import { TIME_LIMITS, toSourceError } from '../../src/sources/connectors/connector.ts';
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

function post(port: number, addresses: readonly string[], totalTimeout = 10_000) {
  const found = addresses.map(
    (address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
  );
  const resolve: Resolve = (_name, _options, answer) => answer(null, found as never);
  const guard = createAddressGuard({ allow: ['127.0.0.0/8', '::1/128'], resolve });
  poster = createPoster({ guard, totalTimeout });
  return poster.post({ origin: `http://far.example:${port}`, path: '/', headers: {}, body: '{}' });
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
