import {
  type HandlerResult,
  type Outcome,
  type Outcomes,
  type ReceivedEvent,
  readFailed,
  uniqueEvents,
} from './batch.ts';
import type {
  BalanceNotification,
  Batch,
  EventNotification,
  MovementNotification,
  Notification,
  Sent,
  TestNotification,
  UnknownNotification,
  WithdrawalNotification,
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

type Result = HandlerResult | void | Promise<HandlerResult | undefined> | Promise<void>;
type Handler<Kind> = (notification: Kind) => Result;

/** What `onBatch` gets: everything but test notifications. */
export type BatchEvent = Exclude<Notification, TestNotification>;

/**
 * What a receiver does with notifications. Each handler may return `{ failed: [id] }` to refuse an event that it cannot process, such as one with an
 * unknown account. That event comes again later, and the others are still sent. A handler throws when it could process no event now, such as
 * when its database does not answer: that counts for the circuit.
 */
export interface ReceiverOptions extends VerifierOptions {
  /** Remembers what is processed. Default: `memoryStore()`, which is enough for a single process that may repeat work after a restart. */
  store?: DeduplicationStore;
  /**
   * How many seconds the handlers have until a POST is answered: with 500, or of a batch with the events that are not done. Default: 14,
   * because Ledgerbell waits 15. A handler that is slower keeps its claim: until it ends, or until the claim's lease ends.
   */
  handlerSeconds?: number;
  /** For `ordered` webhooks: the events of a batch after the first that fails are not processed, and come again. Default: false. */
  ordered?: boolean;
  onMovement?: Handler<MovementNotification>;
  /**
   * For webhooks that list WITHDRAWN_TRANSACTION. Remember the `transactionId`: the movement may come after its withdrawal, and is to be ignored then. Or
   * it never comes.
   */
  onWithdrawal?: Handler<WithdrawalNotification>;
  onBalance?: Handler<BalanceNotification>;
  onEvent?: Handler<EventNotification>;
  /** For types of events that this version does not know. Default: they are ignored, with 204. */
  onUnknown?: Handler<UnknownNotification>;
  /**
   * Gets the new events of a batch at once, in place of the five handlers above, which get them one after the other. A single POST is a
   * batch of one.
   */
  onBatch?: (events: readonly BatchEvent[]) => Result;
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
   * | 200 | a batch of which some or all events come again: the body names them in `failed` |
   * | 204 | the handler has returned; a duplicate; a test notification |
   * | 400 | signed, but the body is not a notification |
   * | 401 | not genuine |
   * | 409 | another process is processing the notification now |
   * | 422 | the handler has refused the event: it has returned its id in `failed` |
   * | 500 | the handler or the store has thrown, or the handler took too long; there is no handler for this kind; the body is not as it came |
   *
   * A batch is answered with 500 only when none of its events is accepted, for a reason that is not theirs: the handler has not refused all of
   * them, and no other process has them. Ledgerbell sends the notification again after each answer but 200 and 204. Requests with the same `webhook-id` at the same time, in this process, get the answer of the first.
   */
  handle(request: ReceivedRequest): Promise<Answer>;
}

const DONE: Answer = { status: 204 };
const FAILED: Answer = { status: 500 };

/** To a single POST. */
const ANSWERS: Record<Outcome, Answer> = {
  done: DONE,
  busy: { status: 409 },
  refused: refuse(422, 'The handler has refused the event: it has returned its id in failed.'),
  failed: FAILED,
};

const HANDLER_SECONDS = 14;
const MOST_HANDLER_SECONDS = 86_400;

/**
 * Creates a receiver of notifications.
 *
 * Each notification is processed at least once: a handler that throws is called again at the next attempt, and so is one whose process
 * ends before it is recorded as done. To make that exactly once, store `notification.id` under a unique key in the transaction of
 * your work; with several installations, `notification.installation` beside it.
 * @throws {Error} when there is no secret or a malformed one, `handlerSeconds` is not positive, or `onBatch` is
 * given beside a handler that it replaces. The message does not contain a secret.
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { store = memoryStore(), handlerSeconds = HANDLER_SECONDS, ordered = false, onBatch } = options;
  if (!(handlerSeconds > 0 && handlerSeconds <= MOST_HANDLER_SECONDS))
    throw new Error(`handlerSeconds is above 0 and at most ${MOST_HANDLER_SECONDS}.`);
  const { onMovement, onWithdrawal, onBalance, onEvent, onUnknown } = options;
  if (onBatch && (onMovement ?? onWithdrawal ?? onBalance ?? onEvent ?? onUnknown))
    throw new Error(
      'onBatch replaces onMovement, onWithdrawal, onBalance, onEvent and onUnknown. Give it or them.',
    );
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

  /** Works on the events of one POST for at most `handlerSeconds`. What is begun by then goes on. */
  async function process(received: Notification | Batch): Promise<Answer> {
    const { id } = received;
    const outcomes: Outcomes = new Map();
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeIsOver = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        isOver = true;
        log({ message: `The handler has not returned within ${handlerSeconds} s.`, id });
        resolve();
      }, handlerSeconds * 1_000);
    });
    const events = received.kind === 'batch' ? uniqueEvents(received) : [received];
    const working = async () => {
      for (const group of groupEvents(events)) {
        if (isOver || (ordered && [...outcomes.values()].some((outcome) => outcome !== 'done'))) return;
        await work(id, group, outcomes);
      }
    };
    await Promise.race([working(), timeIsOver]).finally(() => clearTimeout(timer));
    if (received.kind === 'batch') return answerBatch(events, outcomes);
    return ANSWERS[outcomes.get(id) ?? 'failed'];
  }

  /** The events that a handler gets in one call. */
  function groupEvents(events: readonly ReceivedEvent[]): (readonly ReceivedEvent[])[] {
    if (onBatch === undefined) return events.map((event) => [event]);
    const tests = events.filter(({ kind }) => kind === 'test');
    return [events.filter(({ kind }) => kind !== 'test'), ...tests.map((event) => [event])];
  }

  /**
   * Claims the events, calls the handler for those that are new, and completes or releases their claims: never while the handler may still be
   * at work.
   * @param postId `webhook-id`, for the log.
   */
  async function work(postId: string, events: readonly ReceivedEvent[], outcomes: Outcomes): Promise<void> {
    const claims = await Promise.all(events.map(claim));
    const claimed: { event: Notification; claim: Claim }[] = [];
    let isStopped = false;
    for (const [at, event] of events.entries()) {
      const result = claims[at];
      if (typeof result !== 'object') {
        outcomes.set(event.id, result ?? 'failed');
        isStopped ||= ordered && result !== 'done';
      } else if (event.kind === 'refused' || isStopped) await release(event.id, result);
      else {
        claimed.push({ event, claim: result });
        // Until it is done.
        outcomes.set(event.id, 'failed');
      }
    }
    if (claimed.length === 0) return;
    const id = claimed.length === 1 ? (claimed[0]?.event.id ?? postId) : postId;
    const refused = await call(
      id,
      claimed.map(({ event }) => event),
    );
    await Promise.all(
      claimed.map(async ({ event, claim }) => {
        if (refused === null || refused.has(event.id)) {
          if (refused !== null) outcomes.set(event.id, 'refused');
          await release(event.id, claim);
          return;
        }
        // The work is done. With 500 it would be done again.
        await attempt(event.id, 'The store failed to keep the id. A duplicate would be processed.', () =>
          claim.complete(),
        );
        outcomes.set(event.id, 'done');
      }),
    );
  }

  const release = (id: string, claim: Claim) =>
    attempt(id, 'The store failed to release the id.', () => claim.release());

  /** @returns the claim of an event that a handler is to be called for, or what becomes of it otherwise. */
  async function claim(event: ReceivedEvent): Promise<Claim | Outcome> {
    const { id, kind } = event;
    if (kind === 'refused') {
      log({ message: event.message, id, reason: event.reason });
      return 'failed';
    }
    if (kind === 'test') return NO_CLAIM;
    if (onBatch === undefined && handlerOf(options, event) === null) {
      log({ message: `There is no handler for the kind ${kind}.`, id });
      return 'failed';
    }
    let result: unknown;
    const isReached = await attempt(id, 'The store failed. The handler was not called.', async () => {
      result = await store.claim(keyOf(event));
    });
    if (!isReached) return 'failed';
    if (result === 'done' || result === 'busy' || isClaim(result)) return result;
    log({ message: 'The store returned no claim, "done" or "busy". The handler was not called.', id });
    return 'failed';
  }

  /** Calls the handler for one event, or onBatch. @returns the ids of the events that it refuses; null if it has thrown. */
  async function call(id: string, events: readonly Notification[]): Promise<ReadonlySet<string> | null> {
    let refused: ReadonlySet<string> | null = null;
    await attempt(id, 'The handler failed.', async () => {
      const [first] = events;
      const isBatch = onBatch !== undefined && first?.kind !== 'test';
      const handler = isBatch
        ? () => onBatch(events as readonly BatchEvent[])
        : first && handlerOf(options, first);
      refused = readFailed(await handler?.(), new Set(events.map((event) => event.id)));
    });
    return refused;
  }

  return {
    async handle(request) {
      let loggedId: string | null = null;
      try {
        const sentId = findHeader(request.headers, 'webhook-id') ?? '';
        if (/^[\w.-]{1,100}$/.test(sentId)) loggedId = sentId;
        const received = await verify(request);
        const key = keyOf(received);
        const answer = running.get(key) ?? process(received).finally(() => running.delete(key));
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

/** A test notification is never remembered. */
const NO_CLAIM: Claim = { async complete() {}, async release() {} };

function answerBatch(events: readonly ReceivedEvent[], outcomes: Outcomes): Answer {
  const failed = events.map(({ id }) => id).filter((id) => outcomes.get(id) !== 'done');
  if (failed.length === 0) return DONE;
  const reached = [...outcomes.values()];
  const isWorking = reached.length > 0 && !reached.includes('failed');
  // An endpoint failure, as for a single POST: the circuit breaker then protects the events from losing all their attempts.
  if (failed.length === events.length && !isWorking) return FAILED;
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ failed }),
  };
}

/** The key in the store: the id, after the installation's name if it has one. */
const keyOf = ({ id, installation }: Sent) => (installation === null ? id : `${installation}:${id}`);

function refuse(status: number, body: string): Answer {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

const isClaim = (value: unknown): value is Claim => {
  const { complete, release } = (value ?? {}) as Partial<Claim>;
  return typeof complete === 'function' && typeof release === 'function';
};

function handlerOf(options: ReceiverOptions, notification: Notification): (() => Result) | null {
  const { onMovement, onWithdrawal, onBalance, onEvent, onUnknown = ignore, onTest = ignore } = options;
  switch (notification.kind) {
    case 'movement':
      return onMovement ? () => onMovement(notification) : null;
    case 'withdrawal':
      return onWithdrawal ? () => onWithdrawal(notification) : null;
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
