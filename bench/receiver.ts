import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { monotonic } from './clock.ts';

/**
 * The subscriber of the benchmarks, in a process of its own. Answers 200 immediately and counts. It verifies the signature of
 * the first POST and of every thousandth after it, if it has the secret of the path, so that a fast but wrong run is found.
 * POSTs to /hang… are never answered, those to /slow… and /batch… after 20 ms, and those to /erp… after the milliseconds that the parent has set
 * last. Of those to /timed…, it keeps the time of receipt by the movement's id, and of the batches to /batch… by the id of each event.
 * The parent sends { secrets: { path: secret } }, { erpTakes: milliseconds }, { reset: true } or { ask: true }. It gets { port } at the
 * start, and { count, distinct, verified, wrong, lastAt, held, arrivals: { id: milliseconds } } when it asks; see load.ts.
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
let erpTakes = 0;
/** The answers to /erp… that are still to be given. */
const held = new Set<ServerResponse>();

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
    if (request.url?.startsWith('/batch')) {
      const { events } = JSON.parse(Buffer.concat(parts).toString()) as { events: { id: string }[] };
      for (const { id } of events) arrivals[id] ??= lastAt;
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
    if (/^\/(slow|batch)/.test(request.url ?? '')) setTimeout(() => response.end(), SLOW);
    else if (request.url?.startsWith('/erp') && erpTakes > 0) hold(response);
    else response.end();
  });
});

function hold(response: ServerResponse): void {
  held.add(response);
  setTimeout(() => answer(response), erpTakes);
}

function answer(response: ServerResponse): void {
  if (held.delete(response)) response.end();
}

interface Message {
  secrets?: Record<string, string>;
  erpTakes?: number;
  reset?: boolean;
  ask?: boolean;
}

process.on('message', (message: Message) => {
  if (message.secrets !== undefined) secrets = message.secrets;
  if (message.erpTakes !== undefined) {
    erpTakes = message.erpTakes;
    // Otherwise the held answers would be in flight for seconds after the endpoints have become fast.
    if (erpTakes === 0) for (const response of held) answer(response);
  }
  if (message.reset) {
    count = verified = wrong = lastAt = 0;
    ids = new Set();
    arrivals = {};
  }
  if (message.ask)
    process.send?.({ count, distinct: ids.size, verified, wrong, lastAt, held: held.size, arrivals });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
