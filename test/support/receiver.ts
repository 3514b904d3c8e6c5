import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  /** The order of arrival over all paths, from 0. */
  index: number;
  at: number;
}

/** Answers one POST. A path without it answers 200. */
export type Answering = (received: Received, response: ServerResponse, request: IncomingMessage) => void;

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The most POSTs that were being answered at the same time. */
  readonly peak: number;
  /** The POSTs to one path. */
  at(path: string): Received[];
  /** Sets how a path answers from now on. */
  answer(path: string, answering: Answering): void;
}

/** Starts a real HTTP server on loopback that keeps what it receives. Each webhook of a test has its own path. */
export function useReceiver(): Receiver {
  const received: Received[] = [];
  const answers = new Map<string, Answering>();
  let open = 0;
  let peak = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    peak = Math.max(peak, open);
    response.on('close', () => {
      open -= 1;
    });
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const it: Received = {
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(parts).toString('utf8'),
      index: received.length,
      at: performance.now(),
    };
    received.push(it);
    const answering = answers.get(it.path);
    if (answering === undefined) response.end('ok');
    else answering(it, response, request);
  });
  let port = 0;
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    received,
    get peak() {
      return peak;
    },
    at: (path) => received.filter((it) => it.path === path),
    answer: (path, answering) => answers.set(path, answering),
  };
}
