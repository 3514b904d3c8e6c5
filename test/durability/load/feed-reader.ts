import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';
import { hashOf, type NotifiedBody } from '../notified-body.ts';
import { type ChaosFeed, eventOf } from '../webhooks.ts';
import type { Uploader } from './upload.ts';

const REQUEST_TIMEOUT = 20_000;
const WAIT = 5;
const LIMIT = 50;

/** How often a reader forgets its cursor, as if it was killed after it had read and before it had acknowledged. */
const FORGETS = 0.1;

/** What the reader of one feed has read. */
export interface FeedRecord {
  webhookId: string;
  /** The first word of the description of every movement read, by the name of its event: `12`, or `12-withdrawn`. */
  seen: Map<string, string>;
  /** The events of each page, in order. */
  order: string[][];
  /** Events of pages that were acknowledged, and events that came again in spite of it. */
  acknowledged: Set<string>;
  repeatedAfter: string[];
  /** Events that came again before they were acknowledged, which is allowed. */
  repeated: number;
  /** Bodies whose hash is wrong, and events that are called something else. */
  spoiled: string[];
  /** Answers that a correct request must never get. */
  wrong: string[];
  pages: number;
}

export const newFeedRecord = (webhookId: string): FeedRecord => ({
  ...{ webhookId, seen: new Map(), acknowledged: new Set(), repeatedAfter: [], repeated: 0 },
  ...{ order: [], spoiled: [], wrong: [], pages: 0 },
});

interface Page {
  events: { id: string; event?: string; body: NotifiedBody }[];
  cursor: string;
}

/**
 * Reads a feed, and now and then begins again without a cursor.
 * @param stopping when it is aborted, the feed is read until nothing more comes.
 */
export async function runFeedReader(
  {
    target,
    apiKey,
    apiSecret,
    feed,
    dice,
  }: Pick<Uploader, 'target' | 'apiKey'> & { apiSecret: string; feed: ChaosFeed; dice: Dice },
  record: FeedRecord,
  stopping: AbortSignal,
): Promise<void> {
  let cursor: string | null = null;
  /** The events up to the cursor, which the next answer acknowledges. */
  let unacknowledged: string[] = [];
  for (;;) {
    const isLast = stopping.aborted;
    const page = await readPage(target.url, apiKey, cursor, record);
    if (page === null) {
      if (isLast) return;
      await sleep(300);
      continue;
    }
    record.pages += 1;
    if (cursor !== null) for (const id of unacknowledged) record.acknowledged.add(id);
    unacknowledged = [];
    for (const { id: message, event, body } of page.events) {
      const [, id = ''] = /^msg_\d+-(\d+(?:-withdrawn)?)$/.exec(message) ?? [];
      if (record.acknowledged.has(id)) record.repeatedAfter.push(id);
      else if (record.seen.has(id)) record.repeated += 1;
      if (hashOf(body, apiSecret) !== body.hash) record.spoiled.push(`${id} has another hash`);
      if (event !== eventOf(feed, message)) record.spoiled.push(`${id} is called ${event}`);
      record.seen.set(id, body.description.split(' ', 1)[0] ?? '');
      unacknowledged.push(id);
    }
    record.order.push(unacknowledged);
    if (isLast && page.events.length === 0) return;
    cursor = dice.next() < FORGETS ? null : page.cursor;
  }
}

/** @returns null when the page could not be read and must be requested again. */
async function readPage(
  url: string,
  apiKey: string,
  cursor: string | null,
  record: FeedRecord,
): Promise<Page | null> {
  const query = `limit=${LIMIT}&wait=${WAIT}${cursor === null ? '' : `&cursor=${cursor}`}`;
  try {
    const response = await fetch(`${url}/v1/webhooks/${record.webhookId}/feed?${query}`, {
      headers: { Authentication: apiKey },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
    const text = await response.text();
    if (response.status === 200) return JSON.parse(text) as Page;
    if (response.status < 500 && response.status !== 429)
      record.wrong.push(`${response.status} for a feed: ${text}`);
    return null;
  } catch {
    return null;
  }
}
