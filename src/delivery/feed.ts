import { setTimeout as pause } from 'node:timers/promises';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { createBatcher } from '../platform/batcher.ts';
import { invalid, notFound, Problem } from '../platform/problem.ts';
import type { WebhookSettings } from '../webhook-record/record.ts';
import { decodeCursor, type Position } from './feed/cursor.ts';
import { createPageReader, type FeedEvent, type FeedPage } from './feed/page.ts';
import { acknowledge, replayed, requireOwnAccounts } from './feed/position.ts';
import { createReaders, type Reader, versionOf } from './feed/readers.ts';
import { listenForWakeUps } from './wake.ts';
import { readAllFilters, readStates, type WebhookState } from './webhook-state.ts';

/**
 * Feeds: the events of webhooks with the delivery pull. A feed is a position in the movement log, like the cursor of a webhook that is
 * sent POSTs. Its reader moves the position, and no delivery process takes part.
 */

const SECOND = 1_000;

/** The most seconds that a reader can wait. Shorter than the 60 s after which nginx and others give up on an answer. */
export const LONGEST_WAIT = 55;
/** The most events in a page. */
export const MOST_EVENTS = 1_000;

/** A stream ends after this time or this many events, so that its reader comes again and so acknowledges. */
export const STREAM_SECONDS = 30;
const STREAM_EVENTS = 1_000;
/** A stream without events has a comment this often, so that no proxy takes the connection for dead. Seconds. */
const COMMENT_EVERY = 15;
/** Events per read of a stream. */
const STREAM_PAGE = 100;

/**
 * How long a read waits for a cursor that the database does not know yet, and how often it looks. When another node of a cluster takes over, it may
 * lack the last writes of the first one for a moment. Milliseconds.
 */
const CATCH_UP = 2 * SECOND;
const CATCH_UP_EVERY = 100;

/** Whether a position is beyond all that the feed has matched: after a backup was restored, or because the state was read too early. */
const isBeyond = (
  { epoch, through }: Position,
  { feed, matchedThrough, sentThrough }: WebhookState,
): boolean => epoch > feed.epoch || through > Math.max(matchedThrough, sentThrough);

type PulledWebhook = Pick<WebhookSettings, 'id' | 'customer_id' | 'delivery'>;

interface ReadOptions {
  /** Acknowledges all events before it. undefined: begins after the last acknowledged event. */
  cursor: string | undefined;
  /** Ends the waiting when the client is gone. */
  signal: AbortSignal;
  /** Fails when the caller's API key has been deleted. Asked after each wait, before events are handed out. */
  requireKey: () => Promise<void>;
}

export type { FeedEvent, FeedPage };

export interface Feeds {
  /** Checks that the webhook has a feed, and changes nothing. @throws {Problem} 409. */
  requireFeed(webhook: PulledWebhook): void;
  /**
   * Reads a page, and waits for its first event if there is none.
   * @param options.wait the longest time in seconds.
   * @param options.onWait is called before the reader waits.
   * @throws {Problem} 404, 403, 409, 410, 422; 429 or 503 when too many readers wait.
   */
  read(
    webhook: PulledWebhook,
    caller: Caller,
    options: ReadOptions & { limit: number; wait: number; onWait: (() => void) | undefined },
  ): Promise<FeedPage>;
  /**
   * Reads pages as they come, for half a minute or a thousand events.
   * @returns the pages; null: nothing has come for 15 s.
   * @throws {Problem} as `read`, before the first page.
   */
  follow(
    webhook: PulledWebhook,
    caller: Caller,
    options: ReadOptions,
  ): Promise<AsyncGenerator<FeedPage | null>>;
  /** Answers all readers that wait. None waits from then on. */
  stop(): void;
}

/** Opens the feeds for the readers of this process. */
export function openFeeds(
  runtime: Pick<Runtime, 'config' | 'database' | 'secrets' | 'connectWorker' | 'prefix' | 'metrics'>,
): Feeds {
  const { config, database, secrets, prefix, metrics } = runtime;
  const readPage = createPageReader(runtime);
  const readState = createBatcher((ids: readonly string[]) => readStates(database, ids), {
    workers: 2,
    maxItems: 500,
  });
  const { deliveryQueues } = config;
  const readers = createReaders(database, {
    onFirst: () =>
      listenForWakeUps({ connection: runtime.connectWorker(), prefix, deliveryQueues }, readers.wake),
  });
  metrics.feeds.countReaders(readers.count);

  async function readFeed(id: string): Promise<WebhookState> {
    const state = await readState(id);
    if (state === null || state.settings.status === 'deleted') throw notFound('webhook');
    return state;
  }

  /** As `readFeed`. Waits a little if the state is older than the cursor. */
  async function readCaughtUp(id: string, cursor: string | undefined): Promise<WebhookState> {
    const position = cursor === undefined ? null : decodeCursor(secrets, id, cursor);
    for (const end = performance.now() + CATCH_UP; ; await pause(CATCH_UP_EVERY)) {
      const state = await readFeed(id);
      if (position === null || !isBeyond(position, state) || performance.now() >= end) return state;
    }
  }

  /**
   * Where a reader begins. Begins to acknowledge all events before its cursor. Nothing may be answered before `acknowledged` is resolved.
   */
  function begin(
    state: WebhookState,
    cursor: string | undefined,
  ): { position: Position; acknowledged: Promise<void> } {
    const { feed, sentThrough, settings } = state;
    const acknowledged = Promise.resolve();
    if (cursor === undefined) return { position: { epoch: feed.epoch, through: sentThrough }, acknowledged };
    const position = decodeCursor(secrets, settings.id, cursor);
    if (position === null || isBeyond(position, state))
      throw invalid([
        {
          path: 'cursor',
          message:
            'must be copied unchanged from an answer of this feed. Leave it out to begin after the last acknowledged event',
        },
      ]);
    if (position.epoch < feed.epoch) throw replayed();
    if (position.through > sentThrough)
      return { position, acknowledged: acknowledge(database, settings.id, position) };
    if (position.through < sentThrough && position.through < feed.removedThrough) throw removed();
    return { position, acknowledged };
  }

  /** Reads the page after a position. */
  async function readAfter(
    state: WebhookState,
    caller: Caller,
    after: Position,
    limit: number,
  ): Promise<FeedPage> {
    const filters =
      after.through < state.sentThrough ? await readAllFilters(database, state.settings.id) : state.filters;
    requireOwnAccounts(caller.accountIds, filters, { after: after.through, through: state.matchedThrough });
    const page = await readPage({ state, filters, after, limit });
    if (page.events.length > 0) metrics.feeds.handedOut(page.events.length);
    return page;
  }

  /** Reads the first page of a reader while the events before it are acknowledged. */
  async function readFirst(
    webhook: PulledWebhook,
    caller: Caller,
    { cursor, limit, reader }: { cursor: string | undefined; limit: number; reader: Reader | null },
  ): Promise<FeedPage> {
    const state = await readCaughtUp(webhook.id, cursor);
    if (reader !== null) reader.seen = versionOf(state);
    const { position, acknowledged } = begin(state, cursor);
    const [page] = await Promise.all([readAfter(state, caller, position, limit), acknowledged]);
    return page;
  }

  return {
    requireFeed: requirePull,

    async read(webhook, caller, { cursor, limit, wait, onWait, signal, requireKey }) {
      requirePull(webhook);
      // The reader enters before the state is read, so that no wake-up is missed between the two.
      const reader =
        wait > 0 ? readers.enter({ webhookId: webhook.id, customerId: webhook.customer_id }) : null;
      try {
        const until = performance.now() + wait * SECOND;
        let page = await readFirst(webhook, caller, { cursor, limit, reader });
        while (reader !== null && page.events.length === 0) {
          const left = until - performance.now();
          if (left <= 0 || readers.isStopped()) break;
          onWait?.();
          await reader.wait(left, signal);
          if (signal.aborted) break;
          const state = await readFeed(webhook.id);
          reader.seen = versionOf(state);
          if (state.feed.epoch !== page.position.epoch) throw replayed();
          page = await readAfter(state, caller, page.position, limit);
          if (page.events.length > 0) await requireKey();
        }
        return page;
      } finally {
        reader?.leave();
      }
    },

    async follow(webhook, caller, { cursor, signal, requireKey }) {
      requirePull(webhook);
      const reader = readers.enter({ webhookId: webhook.id, customerId: webhook.customer_id });
      try {
        const first = await readFirst(webhook, caller, { cursor, limit: STREAM_PAGE, reader });
        // A client that takes nothing does not count as a reader for longer.
        setTimeout(reader.leave, STREAM_SECONDS * SECOND).unref();
        return followFrom(reader, webhook.id, caller, first, { signal, requireKey });
      } catch (error) {
        reader.leave();
        throw error;
      }
    },
    stop: readers.stop,
  };

  async function* followFrom(
    reader: Reader,
    webhookId: string,
    caller: Caller,
    first: FeedPage,
    { signal, requireKey }: Pick<ReadOptions, 'signal' | 'requireKey'>,
  ): AsyncGenerator<FeedPage | null> {
    try {
      const until = performance.now() + STREAM_SECONDS * SECOND;
      let page = first;
      let nextComment = performance.now() + COMMENT_EVERY * SECOND;
      for (let sent = 0; ; ) {
        sent += page.events.length;
        const isSilent = page.events.length === 0;
        if (!isSilent || performance.now() >= nextComment) {
          yield isSilent ? null : page;
          nextComment = performance.now() + COMMENT_EVERY * SECOND;
        }
        const left = until - performance.now();
        if (sent >= STREAM_EVENTS || left <= 0 || readers.isStopped() || signal.aborted) return;
        if (!page.more) {
          // A timer may be a little early.
          await reader.wait(Math.min(left, nextComment - performance.now() + 1), signal);
          if (signal.aborted) return;
        }
        const state = await readFeed(webhookId);
        reader.seen = versionOf(state);
        // The next request of the reader learns of the replay.
        if (state.feed.epoch !== page.position.epoch) return;
        page = await readAfter(state, caller, page.position, Math.min(STREAM_PAGE, STREAM_EVENTS - sent));
        if (page.events.length > 0) await requireKey();
      }
    } finally {
      reader.leave();
    }
  }
}

/** @throws {Problem} 409. */
function requirePull({ delivery }: PulledWebhook): void {
  if (delivery !== 'pull')
    throw new Problem(
      'not-a-feed',
      'This webhook sends its events to an endpoint. Only a webhook with the delivery "pull" has a feed.',
    );
}

/** The 410 for a cursor from before movements that were removed because they were old. */
const removed = () =>
  new Problem(
    'cursor-gone',
    'Movements after this cursor have been removed, because they are older than the operator keeps them. Leave cursor out: the answer then begins after the last acknowledged event.',
  );
