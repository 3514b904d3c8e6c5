import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { PROBLEM_TYPE, Problem, renderProblem } from './problem.ts';
import { PROBLEMS } from './problem-types.ts';

const SECOND = 1_000;
const KIB = 1024;

/** Limit for the request line and all headers together. A URL that is too long is therefore a 431 too. */
export const HEADER_BYTES = 16 * KIB;
/** Several times what browsers and proxies send. Node itself would silently drop headers after the thousandth. */
const MAX_HEADERS = 100;

/** How long a client that is still sending has to read the answer before its connection is closed. */
const LINGER = SECOND;

/**
 * Answers requests that Node's HTTP parser rejects, and that therefore never reach the app, in the format of all errors. The
 * connection is closed, because there is no way to tell where the next request would begin.
 */
export function answerBrokenRequests(server: Server): void {
  const answered = new WeakSet<object>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // More of a request that is already answered. Closing now could discard the answer before the client has read it.
    if (answered.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
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
export function answerUnreadable(): Response {
  const { status, headers, body } = render(
    new Problem('malformed', 'The target or the Host header of the request is not valid.'),
  );
  return new Response(body, { status, headers });
}

/**
 * Answers 431 to a request with more than 100 headers, and keeps the connection open.
 * @returns false for a request with at most 100 headers, which is not answered.
 */
export function refuseManyHeaders({ rawHeaders }: IncomingMessage, answer: ServerResponse): boolean {
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
