import { ApiError } from './api-error.ts';
import type { ReadFeedData, ReadFeedResponse, ReceiveMovementWebhookPayload } from './generated/types.gen.ts';
import { hasRightHash } from './receiver/hash.ts';
import { VerificationError } from './receiver/verification-error.ts';
import { pause } from './repeat.ts';

/** An event of a feed (docs/receiving/pull.md). */
export interface FeedEvent {
  /** The same however often the event comes, as `webhook-id` of a POST. That of a test begins with `msg_test_`. */
  id: string;
  /** When the movement was stored: seconds since 1970. */
  timestamp: number;
  /** Only if the webhook lists WITHDRAWN_TRANSACTION. A withdrawal has the id of its movement, followed by `-withdrawn`, and comes after it. */
  event?: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION';
  body: ReceiveMovementWebhookPayload;
}

/** A page of a feed. It has at least one event. */
export interface FeedPage {
  events: FeedEvent[];
  /** Acknowledges the page, when a request has it. The request for the next page does. */
  cursor: string;
}

export interface FeedOptions {
  /** The most events of a page, from 1 to 1,000. Default: 100. */
  limit?: number;
  /**
   * How many seconds a request waits for an event, from 0 to 55. Default: 55. With 0, the loop ends when there is nothing more to read, and has
   * then acknowledged everything.
   */
  wait?: number;
  /** The customer's API secret. With it, the field `hash` of each event is verified. */
  apiSecret?: string;
  /** Ends the loop. */
  signal?: AbortSignal;
}

/** The shortest time between two requests without an event. A service that shuts down does not wait. Milliseconds. */
const SHORTEST_WAIT = 1_000;

export type ReadPage = (
  query: NonNullable<ReadFeedData['query']>,
  signal: AbortSignal | undefined,
) => Promise<ReadFeedResponse>;

/** Yields the pages of a feed that have events, after their hashes are verified. The request for a page acknowledges the page before. */
export async function* readPages(readPage: ReadPage, options: FeedOptions): AsyncGenerator<FeedPage> {
  for await (const page of requestPages(readPage, options)) {
    for (const event of page.events) await verify(event, options);
    if (options.signal?.aborted === true) return;
    yield page;
  }
}

/** Yields the events of a feed. The request for a page acknowledges the page before. */
export async function* readEvents(readPage: ReadPage, options: FeedOptions): AsyncGenerator<FeedEvent> {
  for await (const { events } of requestPages(readPage, options))
    for (const event of events) {
      await verify(event, options);
      // The signal may be aborted while the caller works on an event.
      if (options.signal?.aborted === true) return;
      yield event;
    }
}

async function* requestPages(
  readPage: ReadPage,
  { limit = 100, wait = 55, signal }: FeedOptions,
): AsyncGenerator<FeedPage> {
  const isOver = () => signal?.aborted === true;
  let cursor: string | undefined;
  while (!isOver()) {
    const began = performance.now();
    const query = { limit, wait, ...(cursor === undefined ? {} : { cursor }) };
    const page = await readPage(query, signal).catch((error: unknown) => {
      if (isOver() || isCursorGone(error)) return null;
      throw error;
    });
    cursor = page?.cursor;
    if (page !== null && page.events.length > 0) yield page as unknown as FeedPage;
    else if (page !== null && wait === 0) return;
    else await pause(Math.max(0, began + SHORTEST_WAIT - performance.now()), signal).catch(() => {});
  }
}

/** @throws {VerificationError} `wrong-hash` */
async function verify({ id, body }: FeedEvent, { apiSecret }: FeedOptions): Promise<void> {
  if (apiSecret === undefined || (await hasRightHash(body, apiSecret))) return;
  throw new VerificationError(
    'wrong-hash',
    `The hash of the event ${id} is not that of its fields and the API secret.`,
  );
}

/** The feed was replayed, or retention has removed movements after the cursor. */
const isCursorGone = (error: unknown): boolean =>
  error instanceof ApiError && error.type === '/problems/cursor-gone';
