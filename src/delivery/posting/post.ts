import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { Agent, type DiagnosticsChannel, type Dispatcher } from 'undici';
import { type AddressGuard, RefusedAddressError } from '../../platform/address-guard.ts';
import { createConnector } from '../../platform/connector.ts';
import { DNS_FAILED } from '../../platform/dns-watch.ts';
import { decodeBody, isWholeBody } from './decode-body.ts';
import { explainPostError } from './explain-post-error.ts';
import { postLeniently } from './lenient-post.ts';
import type { Answer, PostHandler, PostRequest } from './types.ts';

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

/** Of an answer. Node's 16 KiB are too few for some login proxies, which set many cookies. */
const MAX_HEADER_SIZE = 64 * 1024;

const MAX_CACHED_ORIGINS = 10_000;

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
  const connect = createConnector({ timeout: CONNECT_TIMEOUT, lookup: guard.lookup });
  const agent = new Agent({
    connect,
    maxHeaderSize: MAX_HEADER_SIZE,
    keepAliveTimeout: 10 * SECOND,
    pipelining: 1,
    // The deadline below covers the whole exchange. These timeouts would only add timers.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const inFlight = new Set<Exchange>();
  /** Runs while POSTs are in flight. */
  let timer: NodeJS.Timeout | null = null;
  const stopTimer = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  const cancelOverdue = () => {
    if (inFlight.size === 0) stopTimer();
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

  /** Origins whose answers undici does not read. */
  const lenientOrigins = new Set<string>();
  const sendLeniently = (request: PostRequest, handler: PostHandler) =>
    postLeniently(connect, request, { handler, maxHeaderSize: MAX_HEADER_SIZE });

  const send = (request: PostRequest) =>
    new Promise<Answer>((resolve) => {
      const exchange = new Exchange(performance.now() + totalTimeout, request.isBatch === true, {
        end(answer) {
          inFlight.delete(exchange);
          resolve(answer);
        },
        repeat(cause) {
          if (cause === 'unread answer') {
            if (lenientOrigins.size >= MAX_CACHED_ORIGINS) lenientOrigins.clear();
            lenientOrigins.add(request.origin);
          }
          sendLeniently(request, exchange);
        },
      });
      inFlight.add(exchange);
      timer ??= setInterval(cancelOverdue, DEADLINE_TICK).unref();
      if (lenientOrigins.has(request.origin)) return sendLeniently(request, exchange);
      dispatching = exchange;
      agent.dispatch({ method: 'POST', ...request }, exchange);
      dispatching = null;
    });

  return {
    post(request) {
      const refusal = refusalOf(request.origin);
      if (refusal !== null) return Promise.resolve({ ...NO_ANSWER, error: refusal, refused: true });
      return send(request);
    },
    abort() {
      for (const exchange of inFlight) exchange.cancel(new AbortedError('cut short by the shutdown'));
    },
    async close() {
      stopTimer();
      await agent.destroy();
    },
  };
}

const NO_ANSWER = { status: null, retryAfter: undefined, body: '', aborted: false, posts: 0 } as const;

/** The result of a POST that was not begun. */
export const NOT_SENT: Answer = { ...NO_ANSWER, error: null, refused: false, aborted: true };

class TimeoutError extends Error {}
class AbortedError extends Error {}
class BodyLimitError extends Error {}

/** Why a POST is sent once more. */
type RepeatCause = 'stale connection' | 'unread answer';

/** Connections on which an answer has come, so that the receiver may close them at any time. */
const answeredSockets = new WeakSet<Socket>();

/** undici says on which connection it sends a request only in its diagnostics channels. */
let dispatching: Exchange | null = null;
const exchanges = new WeakMap<object, Exchange>();
subscribe('undici:request:create', (message) => {
  if (dispatching !== null) {
    exchanges.set((message as DiagnosticsChannel.RequestCreateMessage).request, dispatching);
  }
});
subscribe('undici:client:sendHeaders', (message) => {
  const { request, socket } = message as DiagnosticsChannel.ClientSendHeadersMessage;
  exchanges.get(request)?.onConnection(socket);
});

/**
 * One POST in flight, and its repetition. Implements undici's dispatch handler, because undici's `request` would create a stream for each
 * answer.
 *
 * A POST is repeated once, on a new connection and within the same deadline, if the receiver closed a kept-alive connection just as it was
 * used again: the connection had brought an answer before, and nothing came for this POST. Or if undici does not read the answer.
 */
class Exchange implements Dispatcher.DispatchHandler, PostHandler {
  readonly deadline: number;
  /** How much of the answer's body is kept. */
  readonly #keptBytes: number;
  readonly #next: { end(answer: Answer): void; repeat(cause: RepeatCause): void };
  #controller: { abort(reason: Error): void } | null = null;
  #cancelReason: Error | null = null;
  #posts = 0;
  #isRepeated = false;
  #socket: Socket | null = null;
  /** Of the socket, when the POST was sent. */
  #bytesBefore = 0;
  #status: number | null = null;
  #retryAfter: string | undefined;
  #encoding: string | undefined;
  #contentType: string | undefined;
  #isOpenEnded = false;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(
    deadline: number,
    isBatch: boolean,
    next: { end(answer: Answer): void; repeat(cause: RepeatCause): void },
  ) {
    this.deadline = deadline;
    this.#keptBytes = isBatch ? READ_BYTES : KEPT_BYTES;
    this.#next = next;
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

  onRequestStart(controller: { abort(reason: Error): void }): void {
    this.#controller = controller;
    if (this.#cancelReason !== null) controller.abort(this.#cancelReason);
  }

  onConnection(socket: Socket): void {
    this.#posts += 1;
    this.#socket = socket;
    this.#bytesBefore = socket.bytesRead;
  }

  onResponseStart(
    _controller: unknown,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return; // Interim answers (RFC 9110, section 15.2) are not the answer.
    this.#status = status;
    this.#retryAfter = firstOf(headers['retry-after']);
    this.#encoding = firstOf(headers['content-encoding']);
    this.#contentType = firstOf(headers['content-type']);
    this.#isOpenEnded =
      headers['content-length'] === undefined && headers['transfer-encoding'] === undefined && status !== 204;
    if (this.#socket !== null) answeredSockets.add(this.#socket);
  }

  onResponseData(controller: { abort(reason: Error): void }, chunk: Buffer): void {
    if (this.#bytes < this.#keptBytes) this.#parts.push(chunk.subarray(0, this.#keptBytes - this.#bytes));
    this.#bytes += chunk.length;
    if (this.#bytes > READ_BYTES) controller.abort(new BodyLimitError());
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  onResponseError(_controller: unknown, error: Error): void {
    const cause = this.#repeatCause(error);
    if (cause === null) {
      this.#end(error);
      return;
    }
    this.#isRepeated = true;
    this.#controller = null;
    this.#next.repeat(cause);
  }

  /** Whether bytes have come since the POST was sent. */
  get #isBegun(): boolean {
    return this.#socket !== null && this.#socket.bytesRead > this.#bytesBefore;
  }

  #repeatCause(error: Error): RepeatCause | null {
    const mayRepeat = !this.#isRepeated && this.#cancelReason === null && this.#status === null;
    if (!mayRepeat || this.#socket === null) return null;
    if (isUnread(error)) return 'unread answer';
    return answeredSockets.has(this.#socket) && !this.#isBegun ? 'stale connection' : null;
  }

  #end(error: Error | null): void {
    const isEmpty = this.#status === 204 && error !== null && isWrongLength(error);
    const enough = error === null || error instanceof BodyLimitError || isEmpty;
    const bytes = Buffer.concat(this.#parts);
    const body =
      this.#encoding === undefined
        ? bytes.toString('utf8')
        : decodeBody(bytes, this.#encoding, this.#keptBytes);
    const mustBeWhole = this.#keptBytes === READ_BYTES && this.#encoding !== undefined;
    this.#next.end({
      status: this.#status,
      retryAfter: this.#retryAfter,
      body: body ?? `(an answer in the coding ${this.#encoding?.slice(0, 40)}, which cannot be shown)`,
      contentType: this.#contentType,
      isCut: this.#bytes > READ_BYTES,
      isUnreadable:
        body === null || (mustBeWhole && !isWholeBody(bytes, this.#encoding ?? '', this.#isOpenEnded)),
      isOpenEnded: this.#isOpenEnded,
      error: enough ? null : explainPostError(error, this.#isBegun),
      isUnresolved: (error as NodeJS.ErrnoException | null)?.code === DNS_FAILED,
      refused: error instanceof RefusedAddressError,
      aborted: error instanceof AbortedError && this.#status === null,
      posts: this.#posts,
    });
  }
}

const firstOf = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);

/** Of llhttp, about an answer with Content-Length after Transfer-Encoding. undici has no code for it. */
const BOTH_LENGTHS = "Content-Length can't be present with Transfer-Encoding";
/** Of undici, about any fault in the headers after Content-Length: Transfer-Encoding, too. And about a 204 that has a Content-Length. */
const WRONG_LENGTH = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';

/** Of llhttp, about a header that goes on in the next line (obs-fold, RFC 9112, section 5.2). */
const FOLDED_HEADER = 'Unexpected whitespace after header value';

/** Says whether undici refused an answer that `postLeniently` may read. undici says "bad response" of `100 Continue`. */
const isUnread = (error: Error): boolean =>
  error.message === 'bad response' ||
  [BOTH_LENGTHS, FOLDED_HEADER].some((reason) => error.message.includes(reason)) ||
  isWrongLength(error);

const isWrongLength = (error: Error) => 'code' in error && error.code === WRONG_LENGTH;
