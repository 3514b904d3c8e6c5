import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { PROBLEM_TYPE, PROBLEMS, Problem, renderProblem } from './problem.ts';

const SECOND = 1_000;
const KIB = 1024;

/** What the headers of a request may take up in all, its first line included. A longer URL is therefore a 431 as well. */
export const HEADER_BYTES = 16 * KIB;
/** Several times what browsers and proxies send. Node itself would silently drop those after the thousandth. */
const MAX_HEADERS = 100;

/** A client that still sends has this long to read its answer, before the connection is cut under it. */
const LINGER = SECOND;

/**
 * What Node's HTTP parser refuses never reaches the app; it gets the same kind of answer all the same, and the connection is
 * closed: where the next request would begin cannot be known.
 */
export function answerBrokenRequests(server: Server): void {
  const answered = new WeakSet<object>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // More of the same: it is thrown away, since closing at once would take the answer away from who has not read it yet.
    if (answered.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
    answered.add(socket);
    const { status, headers, body } = render(judge(error.code));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    setTimeout(() => socket.destroy(), LINGER).unref();
  });
}

function judge(code: string | undefined): Problem {
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

/** What Node's parser lets through, but no URL can be made of (its target or Host header), does not reach the app either. */
export function answerUnreadable(): Response {
  const { status, headers, body } = render(
    new Problem('malformed', 'The target or the Host header of the request is not valid.'),
  );
  return new Response(body, { status, headers });
}

/** Answers 431 to a request with more than a hundred headers; the connection goes on. False: it has no more than that. */
export function refuseManyHeaders({ rawHeaders }: IncomingMessage, answer: ServerResponse): boolean {
  // Names and values, one after the other.
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
