import { Agent, type Dispatcher } from 'undici';
import { type AddressGuard, RefusedAddressError } from './address-guard.ts';

const SECOND = 1_000;

const CONNECT_TIMEOUT = 5 * SECOND;
const TOTAL_TIMEOUT = 15 * SECOND;

/** How much of an answer the log keeps. */
const KEPT_BYTES = 4 * 1024;
/** An answer longer than this is cut off: reading on would cost more than a new connection. */
const READ_BYTES = 64 * 1024;

/** How often the deadlines of what is in flight are looked at: one timer for all costs less than one for each. */
const DEADLINE_TICK = 250;
/** Hundreds that hang end in the same tick, and closing a connection takes a while: others are let in between. */
const CUTS_PER_PASS = 16;

const REMEMBERED_ORIGINS = 10_000;

export interface PostRequest {
  origin: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** What came of one POST. It never throws: no answer is an answer too. */
export interface Answer {
  /** The status line decides, even if the rest of the answer broke off; null: there was none. */
  status: number | null;
  retryAfter: string | undefined;
  /** The beginning of the answer's body, at most 4 KiB, as text. */
  body: string;
  /** What went wrong, for people; null when the answer came whole, or was cut off after enough of it. */
  error: string | null;
  /** The address guard refused the connection. */
  refused: boolean;
  /** Cut short by `abort`: it says nothing about the receiver. */
  aborted: boolean;
}

export interface Poster {
  post(request: PostRequest): Promise<Answer>;
  /** Cuts short all that is in flight; those posts end as `aborted`. */
  abort(): void;
  close(): Promise<void>;
}

/**
 * Sends POSTs over kept-alive connections: 5 s to connect, 15 s in all, redirects never followed, each connection only to
 * an address that the guard has checked.
 */
export function createPoster({
  guard,
  totalTimeout = TOTAL_TIMEOUT,
}: {
  guard: AddressGuard;
  totalTimeout?: number;
}): Poster {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT, lookup: guard.lookup },
    keepAliveTimeout: 10 * SECOND,
    pipelining: 1,
    // The deadline below covers the whole exchange; these would only add timers.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const inFlight = new Set<Exchange>();
  const cutOverdue = () => {
    const now = performance.now();
    let cuts = 0;
    for (const exchange of inFlight) {
      if (exchange.deadline > now) break; // A Set keeps the order of insertion, which is that of the deadlines.
      if (cuts === CUTS_PER_PASS) {
        setImmediate(cutOverdue);
        break;
      }
      const isNew = exchange.cut(new TimeoutError(`no complete answer within ${totalTimeout / SECOND} s`));
      if (isNew) cuts += 1;
    }
  };
  const timer = setInterval(cutOverdue, DEADLINE_TICK);
  timer.unref();

  // undici asks nobody about a literal address, so the URL itself is judged before each POST; the verdict never changes.
  const refusals = new Map<string, string | null>();
  const refusalOf = (origin: string): string | null => {
    let refusal = refusals.get(origin);
    if (refusal === undefined) {
      refusal = guard.checkUrl(new URL(origin));
      if (refusals.size >= REMEMBERED_ORIGINS) refusals.clear();
      refusals.set(origin, refusal);
    }
    return refusal;
  };

  const send = (request: PostRequest, { repeat }: { repeat: boolean }) =>
    new Promise<Answer>((resolve) => {
      const exchange = new Exchange(performance.now() + totalTimeout, (answer) => {
        inFlight.delete(exchange);
        // The receiver closed a kept-alive connection just as it was used again; a new one is made for the second try.
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
      for (const exchange of inFlight) exchange.cut(new AbortedError('cut short by the shutdown'));
    },
    async close() {
      clearInterval(timer);
      await agent.destroy();
    },
  };
}

const NO_ANSWER = { status: null, retryAfter: undefined, body: '', aborted: false } as const;

class TimeoutError extends Error {}
class AbortedError extends Error {}
class EnoughError extends Error {}

/** One POST under way, as undici's dispatch reports on it: cheaper than its `request`, which makes a stream per answer. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly deadline: number;
  readonly #settle: (answer: Answer & { stale: boolean }) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #cutBy: Error | null = null;
  #status: number | null = null;
  #retryAfter: string | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(deadline: number, settle: (answer: Answer & { stale: boolean }) => void) {
    this.deadline = deadline;
    this.#settle = settle;
  }

  /**
   * Before the connection stands there is no controller yet: the reason is kept until there is.
   * @returns false when it was cut before.
   */
  cut(reason: Error): boolean {
    if (this.#cutBy !== null) return false;
    this.#cutBy = reason;
    this.#controller?.abort(this.#cutBy);
    if (this.#controller === null) this.#end(this.#cutBy);
    return true;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cutBy !== null) controller.abort(this.#cutBy);
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
    if (this.#bytes > READ_BYTES) controller.abort(new EnoughError());
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  #end(error: Error | null): void {
    const enough = error === null || error instanceof EnoughError;
    this.#settle({
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

/** A connection that had carried answers before, and was closed by the other side without one to this request. */
function isStaleSocket(error: Error | null): boolean {
  if (error === null || !('socket' in error)) return false;
  const { socket } = error as { socket?: { bytesRead?: number } | null };
  return (socket?.bytesRead ?? 0) > 0;
}

function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${error.message}`.slice(0, 255);
}
