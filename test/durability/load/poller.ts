import { setTimeout as sleep } from 'node:timers/promises';
import type { Uploader } from './upload.ts';

const REQUEST_TIMEOUT = 20_000;
const PER_PAGE = 200;

interface Row {
  id: number;
  unique_id: string;
  date_readed: string;
}

export interface PollerRecord {
  customerId: string;
  /** unique_id of every movement seen, by id. */
  seen: Map<string, string>;
  /** New movements that appeared after later ones, or ids that were not ascending within a listing. */
  disorder: string[];
  /** Answers that a correct request must never get. */
  wrong: string[];
  pages: number;
}

export const newPollerRecord = (customerId: string): PollerRecord => ({
  customerId,
  seen: new Map(),
  disorder: [],
  wrong: [],
  pages: 0,
});

/**
 * Lists all movements page by page, following `Link`, and from then on lists new ones with `after`, the last date_readed it has
 * seen.
 * @param stopping when it is aborted, one more listing is read to its end.
 */
export async function runPoller(
  { target, apiKey, every }: Pick<Uploader, 'target' | 'apiKey'> & { every: number },
  record: PollerRecord,
  stopping: AbortSignal,
): Promise<void> {
  let newest = 0n;
  let query = 'starts=2000-01-01';
  for (let last = false; !last; ) {
    last = stopping.aborted;
    let lastOfListing = 0n;
    for (let path: string | null = `/v1/transactions?${query}&per_page=${PER_PAGE}`; path !== null; ) {
      const page: { rows: Row[]; next: string | null } | null = await readPage(
        target.url,
        apiKey,
        path,
        record,
      );
      if (page === null) {
        await sleep(300);
        continue;
      }
      record.pages += 1;
      for (const row of page.rows) {
        const id = BigInt(row.id);
        if (id <= lastOfListing) record.disorder.push(`${row.id} after ${lastOfListing} in one listing`);
        lastOfListing = id;
        const name = String(row.id);
        if (record.seen.has(name)) continue;
        if (id < newest) record.disorder.push(`${row.id} appeared when ${newest} had been seen`);
        if (id > newest) newest = id;
        record.seen.set(name, row.unique_id);
      }
      const end = page.rows.at(-1);
      if (end !== undefined) query = `after=${encodeURIComponent(end.date_readed)}`;
      path = page.next;
    }
    if (!last) await sleep(every, undefined, { signal: stopping }).catch(() => {});
  }
}

/** @returns null when the page could not be read and must be requested again. */
async function readPage(
  url: string,
  apiKey: string,
  path: string,
  record: PollerRecord,
): Promise<{ rows: Row[]; next: string | null } | null> {
  try {
    const response = await fetch(url + path, {
      headers: { Authentication: apiKey },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
    const body = (await response.json()) as { transactions: Row[] };
    if (response.status !== 200) {
      if (response.status < 500 && response.status !== 429)
        record.wrong.push(`${response.status} for ${path}`);
      return null;
    }
    const [, next = null] = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
    return { rows: body.transactions, next };
  } catch {
    return null;
  }
}
