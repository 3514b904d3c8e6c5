import type {
  BalanceNotification,
  EventNotification,
  MovementNotification,
  Notification,
  TestNotification,
  UnknownNotification,
} from './notification.ts';
import { findHeader, type ReceivedRequest, UnreadableRequestError } from './request.ts';
import { memoryStore } from './stores/memory-store.ts';
import type { Claim, DeduplicationStore } from './stores/store.ts';
import { type RefusalReason, VerificationError } from './verification-error.ts';
import { createVerifier, type VerifierOptions } from './verifier.ts';

/** What a receiver reports. `message` is a sentence for a person, and contains no secret. */
export interface LogEntry {
  message: string;
  /** `webhook-id`; null when the request has none that could be one. */
  id: string | null;
  /** Why the request was refused. */
  reason?: RefusalReason;
  /** What the handler or the store has thrown. */
  error?: unknown;
}

type Handler<Kind> = (notification: Kind) => unknown;

export interface ReceiverOptions extends VerifierOptions {
  /** Remembers what is processed. Default: `memoryStore()`, which is enough for a single process that may repeat work after a restart. */
  store?: DeduplicationStore;
  /**
   * How many seconds a handler has until the answer is 500. Default: 14, because Ledgerbell waits 15. A handler that is slower keeps its
   * claim: until it ends, or until the claim's lease ends.
   */
  handlerSeconds?: number;
  onMovement?: Handler<MovementNotification>;
  onBalance?: Handler<BalanceNotification>;
  onEvent?: Handler<EventNotification>;
  /** For types of events that this version does not know. Default: they are ignored, with 204. */
  onUnknown?: Handler<UnknownNotification>;
  /** Default: a test notification is answered with 204, and nothing else happens. */
  onTest?: Handler<TestNotification>;
  /** Default: `console.error`. */
  log?: (entry: LogEntry) => void;
}

/** What the request is answered with. */
export interface Answer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface Receiver {
  /**
   * Verifies a request, calls the handler, and returns the answer. Its promise does not reject.
   *
   * | status | when |
   * |---|---|
   * | 204 | the handler has returned; a duplicate; a test notification |
   * | 400 | signed, but the body is not a notification |
   * | 401 | not genuine |
   * | 409 | another process is processing the notification now |
   * | 500 | the handler or the store has thrown, or the handler took too long; there is no handler for this kind; the body is not as it came |
   *
   * Ledgerbell sends the notification again after each answer but 204. Requests with the same id at the same time, in this process, get
   * the answer of the first.
   */
  handle(request: ReceivedRequest): Promise<Answer>;
}

const DONE: Answer = { status: 204 };
const FAILED: Answer = { status: 500 };

const HANDLER_SECONDS = 14;
const MOST_HANDLER_SECONDS = 86_400;

/**
 * Creates a receiver of notifications.
 *
 * Each notification is processed at least once: a handler that throws is called again at the next attempt, and so is one whose process
 * ends before it is recorded as done. To make that exactly once, store `notification.id` under a unique key in the transaction of
 * your work; with several installations, `notification.installation` beside it.
 * @throws {Error} when there is no secret, or a malformed one, or `handlerSeconds` is not positive. The message does not contain a secret.
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { store = memoryStore(), handlerSeconds = HANDLER_SECONDS } = options;
  if (!(handlerSeconds > 0 && handlerSeconds <= MOST_HANDLER_SECONDS))
    throw new Error(`handlerSeconds is above 0 and at most ${MOST_HANDLER_SECONDS}.`);
  const verify = createVerifier(options);
  const running = new Map<string, Promise<Answer>>();

  function log(entry: LogEntry): void {
    try {
      (options.log ?? logToConsole)(entry);
    } catch (error) {
      logToConsole(entry);
      logToConsole({ message: 'log failed.', id: entry.id, error });
    }
  }

  /** Calls what may throw. @returns whether it has not. */
  async function attempt(id: string, message: string, act: () => unknown): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      log({ message, id, error });
      return false;
    }
  }

  /** Waits for the handler. @returns FAILED, and logs it, when the time is over. What is begun goes on. */
  async function withinTime(id: string, work: Promise<Answer>): Promise<Answer> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isOver = new Promise<Answer>((resolve) => {
      timer = setTimeout(() => {
        log({ message: `The handler has not returned within ${handlerSeconds} s.`, id });
        resolve(FAILED);
      }, handlerSeconds * 1_000);
    });
    return Promise.race([work, isOver]).finally(() => clearTimeout(timer));
  }

  async function process(notification: Notification): Promise<Answer> {
    const { id, kind } = notification;
    const handler = handlerOf(options, notification);
    if (handler === null) {
      log({ message: `There is no handler for the kind ${kind}.`, id });
      return FAILED;
    }
    if (kind === 'test') {
      const answered = attempt(id, 'onTest failed.', handler);
      return withinTime(
        id,
        answered.then((isDone) => (isDone ? DONE : FAILED)),
      );
    }
    let claim: unknown;
    const isReached = await attempt(id, 'The store failed. The handler was not called.', async () => {
      claim = await store.claim(keyOf(notification));
    });
    if (!isReached) return FAILED;
    if (claim === 'done') return DONE;
    if (claim === 'busy') return { status: 409 };
    if (isClaim(claim)) return withinTime(id, work(id, claim, handler));
    log({ message: 'The store returned no claim, "done" or "busy". The handler was not called.', id });
    return FAILED;
  }

  /** Calls the handler, then completes or releases the claim: never while the handler may still be at work. */
  async function work(id: string, claim: Claim, handler: () => unknown): Promise<Answer> {
    if (!(await attempt(id, 'The handler failed.', handler))) {
      await attempt(id, 'The store failed to release the id.', () => claim.release());
      return FAILED;
    }
    // The work is done. With 500 it would be done again.
    await attempt(id, 'The store failed to keep the id. A duplicate would be processed.', () =>
      claim.complete(),
    );
    return DONE;
  }

  return {
    async handle(request) {
      let loggedId: string | null = null;
      try {
        const sentId = findHeader(request.headers, 'webhook-id') ?? '';
        if (/^[\w.-]{1,100}$/.test(sentId)) loggedId = sentId;
        const notification = await verify(request);
        const key = keyOf(notification);
        const answer = running.get(key) ?? process(notification).finally(() => running.delete(key));
        running.set(key, answer);
        return await answer;
      } catch (error) {
        if (error instanceof VerificationError) {
          const { reason, message } = error;
          log({ message, id: loggedId, reason });
          return refuse(reason === 'malformed-body' ? 400 : 401, message);
        }
        if (error instanceof UnreadableRequestError) {
          log({ message: error.message, id: loggedId });
          return refuse(500, error.message);
        }
        log({ message: 'The request could not be verified.', id: loggedId, error });
        return FAILED;
      }
    },
  };
}

/** The key of a notification in the store: `webhook-id`, after the installation's name if it has one. */
const keyOf = ({ id, installation }: Notification) => (installation === null ? id : `${installation}:${id}`);

const refuse = (status: number, body: string): Answer => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body,
});

const isClaim = (value: unknown): value is Claim => {
  const { complete, release } = (value ?? {}) as Partial<Claim>;
  return typeof complete === 'function' && typeof release === 'function';
};

function handlerOf(options: ReceiverOptions, notification: Notification): (() => unknown) | null {
  const { onMovement, onBalance, onEvent, onUnknown = ignore, onTest = ignore } = options;
  switch (notification.kind) {
    case 'movement':
      return onMovement ? () => onMovement(notification) : null;
    case 'balance':
      return onBalance ? () => onBalance(notification) : null;
    case 'event':
      return onEvent ? () => onEvent(notification) : null;
    case 'unknown':
      return () => onUnknown(notification);
    case 'test':
      return () => onTest(notification);
  }
}

function ignore(): void {}

function logToConsole({ message, id, reason, error }: LogEntry): void {
  console.error(
    `Ledgerbell ${id ?? 'notification'}: ${reason === undefined ? '' : `${reason}: `}${message}`,
    error ?? '',
  );
}
