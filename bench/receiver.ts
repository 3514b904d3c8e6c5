import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { monotonic } from './clock.ts';

/**
 * The subscriber of the benchmarks, in a process of its own. Answers 200 immediately and counts. It verifies the signature of
 * the first POST and of every thousandth after it, if it has the secret of the path, so that a fast but wrong run is found.
 * POSTs to /hang… are never answered, those to /slow… after 20 ms. Of those to /timed…, it keeps the time of receipt by the
 * movement's id. The parent sends { secrets: { path: secret } }, { reset: true } or { ask: true }. It gets { port } at the
 * start, and { count, distinct, verified, wrong, lastAt, arrivals: { movement: milliseconds } } when it asks; see load.ts.
 */
const VERIFY_EVERY = 1_000;
const SLOW = 20;

let count = 0;
let verified = 0;
let wrong = 0;
let lastAt = 0;
let ids = new Set<string>();
let secrets: Record<string, string> = {};
let arrivals: Record<string, number> = {};

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    if (request.url?.startsWith('/hang')) return;
    count += 1;
    lastAt = monotonic();
    const { headers } = request;
    if (request.url?.startsWith('/timed')) {
      arrivals[String(headers['ledgerbell-transaction-id'])] = lastAt;
    }
    ids.add(`${request.url}${headers['webhook-id']}`);
    const secret = secrets[request.url ?? ''];
    if (secret !== undefined && count % VERIFY_EVERY === 1) {
      try {
        new Webhook(secret).verify(Buffer.concat(parts).toString(), headers as Record<string, string>);
        verified += 1;
      } catch {
        wrong += 1;
      }
    }
    if (request.url?.startsWith('/slow')) setTimeout(() => response.end(), SLOW);
    else response.end();
  });
});

process.on('message', (message: { secrets?: Record<string, string>; reset?: boolean; ask?: boolean }) => {
  if (message.secrets !== undefined) secrets = message.secrets;
  if (message.reset) {
    count = verified = wrong = lastAt = 0;
    ids = new Set();
    arrivals = {};
  }
  if (message.ask) process.send?.({ count, distinct: ids.size, verified, wrong, lastAt, arrivals });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
