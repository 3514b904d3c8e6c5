import type { DataSource } from 'typeorm';
import { Problem } from '../../platform/problem.ts';
import { joinSettings, revisionOf } from '../../webhook-record/record.ts';
import type { WebhookState } from '../webhook-state.ts';

/**
 * The readers that wait for events in this process. They hold no connection to MySQL. The messages that wake delivery runs wake them
 * too. A query for all of them together finds what these messages have missed, for example while Redis is unreachable.
 */

/** The most readers that wait at a time. A waiting reader costs a connection and some 20 KiB. */
export const MOST_READERS = { webhook: 10, customer: 1_000, process: 15_000 };

/** How often MySQL is asked what has changed. Milliseconds. */
const LOOK_EVERY = 1_500;

/** Webhooks per query. */
const PAGE = 1_000;

/** Indexes: the primary keys. */
const READ_VERSIONS = `
  SELECT w.id, ${revisionOf('w', 's')} AS revision, b.matched_through, k.feed_epoch, k.feed_sample_at IS NOT NULL AS has_sample
  FROM webhooks w ${joinSettings('w', 's')} JOIN webhook_backlogs b ON b.webhook_id = w.id JOIN webhook_cursors k ON k.webhook_id = w.id
  WHERE w.id IN (?)`;

interface VersionRow {
  id: string;
  revision: number | string;
  matched_through: string;
  feed_epoch: number;
  has_sample: string | number;
}

/** Changes with everything that a reader waits for. */
export const versionOf = ({ settings, matchedThrough, feed }: WebhookState): string =>
  `${settings.revision} ${matchedThrough} ${feed.epoch} ${feed.hasSample}`;

const versionOfRow = ({ revision, matched_through, feed_epoch, has_sample }: VersionRow): string =>
  `${revision} ${Number(matched_through)} ${feed_epoch} ${Number(has_sample) === 1}`;

/** A reader that is counted, and is woken from when it has entered on. */
export interface Reader {
  /** The version of the state that the reader has seen. */
  seen: string;
  /** Resolves when the webhook may have something new, after `milliseconds`, when the client is gone, or at the shutdown. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
  leave(): void;
}

export interface Readers {
  /** Counts a reader. @throws {Problem} 429 or 503 when as many as allowed are there. */
  enter(feed: { webhookId: string; customerId: string }): Reader;
  /** Wakes the readers of webhooks. */
  wake(webhookIds: readonly string[]): void;
  count(): number;
  /** Wakes all readers. None waits from then on. */
  stop(): void;
  isStopped(): boolean;
}

/** @param options.onFirst is called when the first reader enters. */
export function createReaders(database: DataSource, { onFirst }: { onFirst: () => void }): Readers {
  const byWebhook = new Map<string, Set<Reader & { wake(): void }>>();
  const ofCustomer = new Map<string, number>();
  let total = 0;
  let isStopped = false;
  let hasBegun = false;
  let look: NodeJS.Timeout | undefined;

  const wake = (webhookIds: Iterable<string>) => {
    for (const id of webhookIds) for (const reader of byWebhook.get(id) ?? []) reader.wake();
  };

  async function wakeChanged(): Promise<void> {
    const ids = [...byWebhook.keys()];
    for (let start = 0; start < ids.length; start += PAGE) {
      const rows = await database.query<VersionRow[]>(READ_VERSIONS, [ids.slice(start, start + PAGE)]);
      for (const row of rows) {
        const version = versionOfRow(row);
        for (const reader of byWebhook.get(row.id) ?? []) if (reader.seen !== version) reader.wake();
      }
    }
  }

  function lookLater(): void {
    look ??= setTimeout(async () => {
      // While MySQL is unreachable, nothing can be found.
      await wakeChanged().catch(() => {});
      look = undefined;
      if (total > 0 && !isStopped) lookLater();
    }, LOOK_EVERY).unref();
  }

  return {
    enter({ webhookId, customerId }) {
      const readers = byWebhook.get(webhookId) ?? new Set();
      const ofSame = ofCustomer.get(customerId) ?? 0;
      if (readers.size >= MOST_READERS.webhook)
        throw tooMany(`${MOST_READERS.webhook} readers of this feed are waiting`);
      if (ofSame >= MOST_READERS.customer)
        throw tooMany(`${MOST_READERS.customer} of your readers are waiting`);
      if (total >= MOST_READERS.process) throw busy();
      if (!hasBegun) onFirst();
      hasBegun = true;
      let isWoken = false;
      let resolve: (() => void) | undefined;
      const reader = {
        seen: '',
        wake() {
          isWoken = true;
          resolve?.();
        },
        async wait(milliseconds: number, signal: AbortSignal) {
          if (!isWoken && !isStopped && !signal.aborted && milliseconds > 0) {
            const done = new Promise<void>((woken) => {
              resolve = woken;
            });
            const timer = setTimeout(() => resolve?.(), milliseconds);
            const gone = () => resolve?.();
            signal.addEventListener('abort', gone, { once: true });
            await done;
            clearTimeout(timer);
            signal.removeEventListener('abort', gone);
          }
          isWoken = false;
        },
        leave() {
          if (!readers.delete(reader)) return;
          if (readers.size === 0) byWebhook.delete(webhookId);
          total -= 1;
          const left = (ofCustomer.get(customerId) ?? 1) - 1;
          if (left === 0) ofCustomer.delete(customerId);
          else ofCustomer.set(customerId, left);
        },
      };
      readers.add(reader);
      byWebhook.set(webhookId, readers);
      ofCustomer.set(customerId, ofSame + 1);
      total += 1;
      lookLater();
      return reader;
    },
    wake,
    count: () => total,
    stop() {
      isStopped = true;
      clearTimeout(look);
      wake(byWebhook.keys());
    },
    isStopped: () => isStopped,
  };
}

/** Seconds after which a reader that was refused may try again. */
const RETRY_AFTER = { headers: { 'Retry-After': '1' } };

const tooMany = (what: string) =>
  new Problem(
    'too-many-readers',
    `${what}, which is the limit. Read with wait=0, or end another reader.`,
    RETRY_AFTER,
  );

const busy = () =>
  new Problem(
    'busy',
    'As many readers are waiting as this process allows. Read with wait=0, or try again later.',
    RETRY_AFTER,
  );
