import { Agent, type Dispatcher } from 'undici';
import { type AddressGuard, RefusedAddressError } from '../../platform/address-guard.ts';
import { createConnector, explainTlsError, firstErrorOf } from '../../platform/connector.ts';

/** Sends one POST and reports how it ended. Handles timeouts, the check of the address, and what is kept of the answer. */

const SECOND = 1_000;

const CONNECT_TIMEOUT = 5 * SECOND;
const TOTAL_TIMEOUT = 15 * SECOND;

/** How much of an answer's body is kept for the log. */
const KEPT_BYTES = 4 * 1024;
/** A longer answer is cut off, because reading on would cost more than a new connection. */
const READ_BYTES = 64 * 1024;

/** How often deadlines are checked. One timer for all POSTs costs less than a timer for each. Milliseconds. */
const DEADLINE_TICK = 250;
/** Hundreds of hanging POSTs can end in the same tick, and closing a connection takes a while, so other work runs in between. */
const CANCELS_PER_PASS = 16;

const MAX_CACHED_ORIGINS = 10_000;

export interface PostRequest {
  origin: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** How one POST ended. `post` never rejects, so a missing answer is reported here too. */
export interface Answer {
  /** The status code, even if the rest of the answer broke off. null: no status arrived. */
  status: number | null;
  retryAfter: string | undefined;
  /** The beginning of the answer's body as text, at most 4 KiB. */
  body: string;
  /** The error for people to read. null: the answer is complete, or was only cut off for its length. */
  error: string | null;
  /** The address guard refused the connection. */
  refused: boolean;
  /** `abort` cut the POST short before a status arrived. This says nothing about the receiver. */
  aborted: boolean;
}

export interface Poster {
  post(request: PostRequest): Promise<Answer>;
  /** Cuts short all POSTs in flight. */
  abort(): void;
  close(): Promise<void>;
}

/**
 * Creates a poster with kept-alive connections. Timeouts: 5 s to connect, 15 s in all. The poster never follows redirects, and connects
 * only to addresses that the guard has checked.
 */
export function createPoster({
  guard,
  totalTimeout = TOTAL_TIMEOUT,
}: {
  guard: AddressGuard;
  totalTimeout?: number;
}): Poster {
  const agent = new Agent({
    connect: createConnector({ timeout: CONNECT_TIMEOUT, lookup: guard.lookup }),
    keepAliveTimeout: 10 * SECOND,
    pipelining: 1,
    // The deadline below covers the whole exchange. These timeouts would only add timers.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const inFlight = new Set<Exchange>();
  const cancelOverdue = () => {
    const now = performance.now();
    let cancelled = 0;
    for (const exchange of inFlight) {
      if (exchange.deadline > now) break; // The Set keeps the order of insertion, which is the order of the deadlines.
      if (cancelled === CANCELS_PER_PASS) {
        setImmediate(cancelOverdue);
        break;
      }
      const isNew = exchange.cancel(new TimeoutError(`no complete answer within ${totalTimeout / SECOND} s`));
      if (isNew) cancelled += 1;
    }
  };
  const timer = setInterval(cancelOverdue, DEADLINE_TICK);
  timer.unref();

  // undici does not look up a literal address, so the guard checks the URL before the POST. The result never changes.
  const refusals = new Map<string, string | null>();
  const refusalOf = (origin: string): string | null => {
    let refusal = refusals.get(origin);
    if (refusal === undefined) {
      refusal = guard.checkUrl(new URL(origin));
      if (refusals.size >= MAX_CACHED_ORIGINS) refusals.clear();
      refusals.set(origin, refusal);
    }
    return refusal;
  };

  const send = (request: PostRequest, { repeat }: { repeat: boolean }) =>
    new Promise<Answer>((resolve) => {
      const exchange = new Exchange(performance.now() + totalTimeout, (answer) => {
        inFlight.delete(exchange);
        // The receiver closed a kept-alive connection just as it was used again. The POST is sent once more on a new one.
        resolve(answer.stale && repeat ? send(request, { repeat: false }) : answer);
      });
      inFlight.add(exchange);
      agent.dispatch({ method: 'POST', ...request }, exchange);
    });

  return {
    post(request) {
      const refusal = refusalOf(request.origin);
      if (refusal !== null) return Promise.resolve({ ...NO_ANSWER, error: refusal, refused: true });
      return send(request, { repeat: true });
    },
    abort() {
      for (const exchange of inFlight) exchange.cancel(new AbortedError('cut short by the shutdown'));
    },
    async close() {
      clearInterval(timer);
      await agent.destroy();
    },
  };
}

const NO_ANSWER = { status: null, retryAfter: undefined, body: '', aborted: false } as const;

/** The result of a POST that was not begun. */
export const NOT_SENT: Answer = { ...NO_ANSWER, error: null, refused: false, aborted: true };

class TimeoutError extends Error {}
class AbortedError extends Error {}
class BodyLimitError extends Error {}

/** One POST in flight. Implements undici's dispatch handler, because undici's `request` would create a stream for each answer. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly deadline: number;
  readonly #finish: (answer: Answer & { stale: boolean }) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #cancelReason: Error | null = null;
  #status: number | null = null;
  #retryAfter: string | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(deadline: number, finish: (answer: Answer & { stale: boolean }) => void) {
    this.deadline = deadline;
    this.#finish = finish;
  }

  /**
   * Ends the POST for this reason. If undici has not started the request yet, the request is aborted when it starts.
   * @returns false when the POST was cancelled before.
   */
  cancel(reason: Error): boolean {
    if (this.#cancelReason !== null) return false;
    this.#cancelReason = reason;
    this.#controller?.abort(this.#cancelReason);
    if (this.#controller === null) this.#end(this.#cancelReason);
    return true;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cancelReason !== null) controller.abort(this.#cancelReason);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return; // Interim answers (RFC 9110, section 15.2) are not the answer.
    this.#status = status;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bytes < KEPT_BYTES) this.#parts.push(chunk.subarray(0, KEPT_BYTES - this.#bytes));
    this.#bytes += chunk.length;
    if (this.#bytes > READ_BYTES) controller.abort(new BodyLimitError());
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  #end(error: Error | null): void {
    const enough = error === null || error instanceof BodyLimitError;
    this.#finish({
      status: this.#status,
      retryAfter: this.#retryAfter,
      body: Buffer.concat(this.#parts).toString('utf8'),
      error: enough ? null : describe(error),
      refused: error instanceof RefusedAddressError,
      aborted: error instanceof AbortedError && this.#status === null,
      stale: this.#status === null && isStaleSocket(error),
    });
  }
}

/** Says whether the receiver closed a reused connection without answering this request. */
function isStaleSocket(error: Error | null): boolean {
  if (error === null || !('socket' in error)) return false;
  const { socket } = error as { socket?: { bytesRead?: number } | null };
  return (socket?.bytesRead ?? 0) > 0;
}

function describe(reported: Error): string {
  const error = firstErrorOf(reported);
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  const words = explainTlsError(error, 'the endpoint') ?? error.message;
  return `${code}${words}`
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 255);
}
