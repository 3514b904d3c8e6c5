import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect } from 'vitest';
import { reservePort } from '../support/reserved-port.ts';

/** The notes of an endpoint, in the order in which it happened. */
export interface Event {
  kind: 'came' | 'answered';
  id: string;
  status: number;
  at: number;
}

/** An HTTP server of the test's own. It is down at first: nothing listens on its port. */
export function useEndpoint() {
  const events: Event[] = [];
  let healthyFor = 0;
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    const status = healthyFor > 0 ? 200 : 503;
    healthyFor -= 1;
    events.push({ kind: 'came', id, status, at: performance.now() });
    request.resume();
    // Failures take longer than all successes before them, so that no success is reported after the failures that follow it.
    setTimeout(
      () => {
        events.push({ kind: 'answered', id, status, at: performance.now() });
        response.writeHead(status).end();
      },
      status === 200 ? 3 : 50,
    );
  });
  let port = 0;
  const listen = async () => {
    if (server.listening) return;
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  beforeAll(async () => {
    port = await reservePort();
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    get url() {
      return `http://127.0.0.1:${port}/`;
    },
    /** Returns everything that has happened since the last `take`. */
    take: () => events.splice(0),
    /** Starts to accept connections, and answers 503. */
    listen,
    /** Answers 200 to the next `count` POSTs, and 503 to what follows. */
    recover(count = Number.POSITIVE_INFINITY) {
      healthyFor = count;
    },
    came: (status: number) => events.filter((it) => it.kind === 'came' && it.status === status).length,
  };
}

/** How many POSTs were open at each arrival, and how many had been answered by then. */
export function openings(events: readonly Event[]): { open: number; answered: number }[] {
  let open = 0;
  let answered = 0;
  return events.flatMap(({ kind }) => {
    open += kind === 'came' ? 1 : -1;
    if (kind === 'answered') answered += 1;
    return kind === 'came' ? [{ open, answered }] : [];
  });
}

/** One POST alone, then at most 2, 4, 8 …: each step when as many have been answered as may be in flight. */
export function expectSlowStart(events: readonly Event[], maxInFlight: number): void {
  const tooEarly = openings(events).filter(
    ({ open, answered }) => open > Math.min(maxInFlight, 2 ** Math.floor(Math.log2(answered + 1))),
  );
  expect(tooEarly).toEqual([]);
}
