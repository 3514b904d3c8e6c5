import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Role } from '../database/runtime.ts';
import { PROBLEMS, Problem } from '../platform/problem.ts';
import { PROBLEM_TYPE, renderProblem } from './app.ts';

/** The HTTP server of the API and of the console: its port, its time limits, and its end. */

const SECOND = 1_000;

/** Long enough for the headers of any honest client. Short enough that slow senders cannot hold many connections open. */
const HEADERS_TIMEOUT = 15 * SECOND;
/** The time limit for a whole request. Enough for an import of a gigabyte over a modest connection. */
const REQUEST_TIMEOUT = 600 * SECOND;
/** How often connections are checked against these two timeouts. */
const TIMEOUT_CHECKS = 5 * SECOND;

/** If the timers of a process are later than this, the process was paused. Less than the time between two checks. */
const LONGEST_WAIT = 3 * SECOND;

/** How long a shutdown waits for running requests before it closes their connections. */
const SHUTDOWN_GRACE = 5 * SECOND;

/** How long a process hands over. In this time, every client that keeps sending gets an answer. */
const HAND_OVER_TIME = SECOND;

/** Another program is using the port. */
export class PortTakenError extends Error {
  override name = 'PortTakenError';
}

/** Answers a request: the `fetch` of a Hono app. */
export type Fetch = Parameters<typeof getRequestListener>[0];

interface ServerOptions {
  name: string;
  host: string;
  /** 0: any free port. */
  port: number;
  /** The environment variable that sets the port, for the message of a PortTakenError. */
  variable: 'PORT' | 'OPS_PORT';
  /** Whether no other process of node:cluster shares the port. Default: they may. */
  exclusive?: boolean;
  /** Seconds for which a connection stays open after an answer, for the next request of its client. */
  keepAlive: number;
  /** How long a client may take no byte of an answer. Milliseconds; by default 30 s. */
  unreadLimit?: number;
  /** Certificate and key, both in PEM. With them, the server speaks HTTPS. */
  tls?: Tls | undefined;
}

interface Tls {
  cert: string;
  key: string;
}

/** @throws {PortTakenError} when the port is taken. The message says what to do. */
async function listen(
  server: Server,
  {
    host,
    port,
    variable,
    exclusive = false,
  }: Pick<ServerOptions, 'host' | 'port' | 'variable' | 'exclusive'>,
): Promise<void> {
  server.listen({ port, host, exclusive });
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new PortTakenError(
        `${variable} ${port} on ${host} is taken: set ${variable} to another port, or to 0 for any free port.`,
      );
    }
    throw error;
  }
}

/** Makes sure that a port is free, before anything else is started or made. @throws {PortTakenError} when it is taken. */
export async function requireFreePort(
  options: Pick<ServerOptions, 'host' | 'port' | 'variable'>,
): Promise<void> {
  if (options.port === 0) return;
  const server = createServer();
  await listen(server, options);
  const closed = once(server, 'close');
  server.close();
  await closed;
}

/**
 * Starts an HTTP or HTTPS server with the limits and timeouts that all listeners of the service share.
 * @param fetch answers a request: the `fetch` of a Hono app.
 * @returns the server, with the URL at which this machine reaches it.
 * @throws {PortTakenError} when the port is taken. The message says what to do.
 */
export async function startServer(
  fetch: Fetch,
  {
    name,
    host,
    port,
    variable,
    exclusive = false,
    keepAlive,
    unreadLimit = UNREAD_LIMIT,
    tls,
  }: ServerOptions,
): Promise<Role & { url: string; handOver(): Promise<void>; renewTls(tls: Tls): void }> {
  let isClosing = false;
  const unanswered = new Set<ServerResponse>();
  /** The connections of these answers. */
  const answering = new Set<Socket>();
  /** Asks each client to close its connection after its answer. Otherwise the client would send its next request on it. */
  const closeAfterAnswers = () => {
    isClosing = true;
    for (const answer of unanswered) answer.shouldKeepAlive = false;
  };
  const listener = getRequestListener(fetch, { errorHandler: () => answerUnreadable() });
  const receive = oneAtATime((request, answer) => {
    if (isClosing) answer.shouldKeepAlive = false;
    unanswered.add(answer);
    answering.add(request.socket);
    answer.once('close', () => {
      unanswered.delete(answer);
      answering.delete(request.socket);
    });
    if (!refuseManyHeaders(request, answer)) void listener(request, answer);
  });
  const limits = {
    keepAliveTimeout: keepAlive * SECOND,
    headersTimeout: HEADERS_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    connectionsCheckingInterval: TIMEOUT_CHECKS,
    maxHeaderSize: HEADER_BYTES,
    // Node's own 400 would have no body. Without a Host no URL can be formed, so answerUnreadable answers.
    requireHostHeader: false,
  };
  const secure =
    tls && createTlsServer({ ...limits, ...tls, ...TLS_OPTIONS, handshakeTimeout: HEADERS_TIMEOUT }, receive);
  const server: Server = secure ?? createServer(limits, receive);
  const connections = watchConnections(server);
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1). Node's own 417 would have no body either.
  server.on('checkExpectation', receive);
  answerBrokenRequests(server);
  endUnreadAnswers(server, answering, unreadLimit);
  await listen(server, { host, port, variable, exclusive });
  return {
    name,
    url: urlOf(secure === undefined ? 'http' : 'https', host, server.address() as AddressInfo),
    /** For a second, each answer asks the client to close its connection. The client's next connection leads to another process. */
    async handOver() {
      closeAfterAnswers();
      await sleep(HAND_OVER_TIME);
    },
    /** New connections get this certificate. @throws when the server does not speak HTTPS. */
    renewTls(renewed) {
      if (secure === undefined) throw new Error('The server speaks plain HTTP.');
      secure.setSecureContext({ ...renewed, ...TLS_OPTIONS });
    },
    async stop() {
      const closed = once(server, 'close');
      closeAfterAnswers();
      server.close();
      server.closeIdleConnections();
      const cut = setTimeout(() => {
        for (const connection of connections) connection.destroy();
      }, SHUTDOWN_GRACE);
      await closed;
      clearTimeout(cut);
    },
  };
}

const TLS_OPTIONS = { minVersion: 'TLSv1.2' } as const;

/** The open connections of a server. Its own closeAllConnections leaves out those without a finished TLS handshake. */
function watchConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return connections;
}

/** How long a client may take no byte of an answer. */
const UNREAD_LIMIT = 30 * SECOND;

/**
 * Closes connections whose clients take no byte for 30 s while bytes wait for them, because the answers fill memory. Node restarts the time
 * with the bytes that the kernel takes, of which it shows about a megabyte at a time, and with each byte that is received. An answer that has nothing to send yet, such as that of a long poll, goes on.
 */
function endUnreadAnswers(server: Server, answering: ReadonlySet<Socket>, limit: number): void {
  server.setTimeout(limit, (socket) => {
    if (!answering.has(socket) || socket.writableLength > 0) socket.destroy();
  });
}

function urlOf(scheme: 'http' | 'https', host: string, { port }: AddressInfo): string {
  if (host === '0.0.0.0' || host === '::') return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const KIB = 1024;

/** Limit for the request line and all headers together. A URL that is too long therefore also gets a 431. */
export const HEADER_BYTES = 16 * KIB;
/** Several times as many as browsers and proxies send. Node itself would silently drop headers after the thousandth. */
const MAX_HEADERS = 100;

/** How long a client that is still sending has to read the answer before its connection is closed. */
const LINGER = SECOND;

/**
 * Answers requests that Node's HTTP parser rejects. They never reach the app, but the answer has the format of all errors. The
 * connection is closed, because it is not known where the next request would begin.
 */
function answerBrokenRequests(server: Server): void {
  const answered = new WeakSet<object>();
  const wasPaused = watchPauses(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // The request may have arrived while the process was paused. If it has not arrived, the next check answers 408.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && wasPaused()) return;
    // This request is already answered. Closing now could discard the answer before the client has read it.
    if (answered.has(socket)) return;
    // Without a TLS handshake, nothing can be answered.
    if (/^(?:ECONNRESET$|ERR_SSL_|ERR_TLS_)/.test(error.code ?? '') || !socket.writable)
      return socket.destroy();
    answered.add(socket);
    const { status, headers, body } = render(problemOf(error.code));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    setTimeout(() => socket.destroy(), LINGER).unref();
  });
}

/** @returns a function that says whether this process was paused for seconds, because it was frozen or its event loop was blocked. */
function watchPauses(server: Server): () => boolean {
  let ran = performance.now();
  let resumed = Number.NEGATIVE_INFINITY;
  const isPause = () => performance.now() - ran > LONGEST_WAIT;
  const timer = setInterval(() => {
    if (isPause()) resumed = performance.now();
    ran = performance.now();
  }, SECOND);
  server.on('close', () => clearInterval(timer));
  return () => isPause() || performance.now() - resumed < LONGEST_WAIT;
}

function problemOf(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(
        'headers-too-large',
        `The request line and the headers must be at most ${HEADER_BYTES / KIB} KiB in all.`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'Send the headers, and then the body, without long pauses.');
    default:
      return new Problem('malformed', 'The request is not valid HTTP/1.1.');
  }
}

/** Answers 400 to a request that Node's parser accepts, but whose target or Host header forms no valid URL. */
function answerUnreadable(): Response {
  const { status, headers, body } = render(
    new Problem('malformed', 'The target or the Host header of the request is not valid.'),
  );
  return new Response(body, { status, headers });
}

/**
 * Answers 431 to a request with more than 100 headers, and keeps the connection open.
 * @returns false for a request with at most 100 headers. Such a request is not answered here.
 */
function refuseManyHeaders({ rawHeaders }: IncomingMessage, answer: ServerResponse): boolean {
  // rawHeaders alternates names and values.
  if (rawHeaders.length <= 2 * MAX_HEADERS) return false;
  const { status, headers, body } = render(
    new Problem('headers-too-large', `A request must have at most ${MAX_HEADERS} headers.`),
  );
  answer.writeHead(status, headers).end(body);
  return true;
}

function render(problem: Problem) {
  const requestId = randomUUID();
  const body = renderProblem(problem, requestId);
  return {
    status: PROBLEMS[problem.problem].status,
    headers: {
      'Content-Type': PROBLEM_TYPE,
      'Content-Length': String(Buffer.byteLength(body)),
      'X-Request-Id': requestId,
    },
    body,
  };
}

type Listener = (request: IncomingMessage, answer: ServerResponse) => void;

/**
 * Handles the requests of one connection one at a time. Each request waits until the previous answer has been sent. A client may
 * pipeline requests (RFC 9112, section 9.3.2), and Node passes on all of them immediately. Without this, a client that pipelines
 * without reading could make the service build hundreds of pages and keep them in memory.
 */
function oneAtATime(listener: Listener): Listener {
  const latest = new WeakMap<Socket, ServerResponse>();
  return (request, answer) => {
    const { socket } = request;
    const before = latest.get(socket);
    latest.set(socket, answer);
    if (before === undefined || before.closed) return listener(request, answer);
    before.once('close', () => {
      if (!socket.destroyed) listener(request, answer);
    });
  };
}
