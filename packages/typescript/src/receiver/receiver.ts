import type {
  BalanceNotification,
  EventNotification,
  MovementNotification,
  Notification,
  TestNotification,
  UnknownNotification,
} from './notification.ts';
import { memoryStore } from './stores/memory-store.ts';
import type { DeduplicationStore } from './stores/store.ts';
import { type RefusalReason, VerificationError } from './verification-error.ts';
import { createVerifier, findHeader, type ReceivedRequest, type VerifierOptions } from './verifier.ts';

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
   * Verifies a request, calls the handler, and returns the answer. It throws only what `log` throws.
   *
   * | status | when |
   * |---|---|
   * | 204 | the handler has returned; a duplicate; a test notification |
   * | 400 | signed, but the body is not a notification |
   * | 401 | not genuine |
   * | 409 | another process is processing the notification now |
   * | 500 | the handler or the store has thrown, there is no handler for this kind, or the body was parsed before |
   *
   * Ledgerbell sends the notification again after each answer but 204. Requests with the same id at the same time, in this process, get
   * the answer of the first.
   */
  handle(request: ReceivedRequest): Promise<Answer>;
}

const DONE: Answer = { status: 204 };
const FAILED: Answer = { status: 500 };

/**
 * Creates a receiver of notifications.
 *
 * Each notification is processed at least once: a handler that throws is called again at the next attempt, and so is one whose process
 * ends before it is recorded as done. To make that exactly once, store `notification.id` under a unique key in the transaction of
 * your work.
 * @throws {Error} when there is no secret, or a malformed one. The message does not contain it.
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { store = memoryStore(), log = logToConsole } = options;
  const verify = createVerifier(options);
  const running = new Map<string, Promise<Answer>>();

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

  async function process(notification: Notification): Promise<Answer> {
    const { id, kind } = notification;
    const handler = handlerOf(options, notification);
    if (handler === null) {
      log({ message: `There is no handler for the kind ${kind}.`, id });
      return FAILED;
    }
    if (kind === 'test') return (await attempt(id, 'onTest failed.', handler)) ? DONE : FAILED;
    let claim: Awaited<ReturnType<DeduplicationStore['claim']>> = 'busy';
    const isReached = await attempt(id, 'The store failed. The handler was not called.', async () => {
      claim = await store.claim(id);
    });
    return isReached ? processOnce(id, claim, handler) : FAILED;
  }

  async function processOnce(
    id: string,
    claim: Awaited<ReturnType<DeduplicationStore['claim']>>,
    handler: () => unknown,
  ): Promise<Answer> {
    if (claim === 'done') return DONE;
    if (claim === 'busy') return { status: 409 };
    if (!(await attempt(id, 'The handler failed.', handler))) {
      await attempt(id, 'The store failed to release the id.', claim.release);
      return FAILED;
    }
    // The work is done. With 500 it would be done again.
    await attempt(id, 'The store failed to keep the id. A duplicate would be processed.', claim.complete);
    return DONE;
  }

  return {
    async handle(request) {
      const sentId = findHeader(request.headers, 'webhook-id') ?? '';
      const loggedId = /^[\w.-]{1,100}$/.test(sentId) ? sentId : null;
      if (typeof request.body !== 'string' && !(request.body instanceof Uint8Array)) {
        log({ message: 'The body was parsed before the receiver has seen it.', id: loggedId });
        return FAILED;
      }
      let notification: Notification;
      try {
        notification = await verify(request);
      } catch (error) {
        if (!(error instanceof VerificationError)) {
          log({ message: 'The request could not be verified.', id: loggedId, error });
          return FAILED;
        }
        const { reason, message } = error;
        log({ message, id: loggedId, reason });
        return {
          status: reason === 'malformed-body' ? 400 : 401,
          headers: { 'content-type': 'text/plain; charset=utf-8' },
          body: message,
        };
      }
      const { id } = notification;
      const answer = running.get(id) ?? process(notification).finally(() => running.delete(id));
      running.set(id, answer);
      return answer;
    },
  };
}

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
