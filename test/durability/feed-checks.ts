import type { Evidence, Findings } from './checker.ts';
import type { FeedRecord } from './load/feed-reader.ts';
import { type ChaosFeed, matches, toldBy } from './webhooks.ts';
import { compareWithListing } from './withdrawal-checks.ts';

/** Checks what the readers of feeds have read. */

/** An event of a feed, by the name that its reader gives it. */
interface FeedEvent {
  /** `12`, or `12-withdrawn`. */
  name: string;
  movement: string;
  /** Its place in the log. */
  place: bigint;
  /** A new movement that was withdrawn, which is not handed out any more. */
  isGone: boolean;
}

export function checkFeeds(evidence: Evidence, findings: Findings): void {
  for (const feed of evidence.feeds) {
    const record = evidence.feedRecords.find(({ webhookId }) => webhookId === feed.id);
    if (record === undefined) throw new Error(`feed ${feed.id} has no reader`);
    const events = eventsOf(feed, evidence);
    const add = (name: keyof Findings, cases: readonly string[]) =>
      findings[name].push(...cases.map((it) => `${it} of feed ${feed.id}`));
    add('missed by readers of feeds', findMissed(events, record));
    const known = new Set(events.map(({ name }) => name));
    add(
      'in a feed and not matched',
      [...record.seen.keys()].filter((name) => !known.has(name)),
    );
    add('repeated by feeds after it was acknowledged', record.repeatedAfter);
    add('in feeds out of order, or with another hash', [...record.spoiled, ...findLate(events, record)]);
    add('counted otherwise by feeds', findWrongCounts(feed, evidence, events, record));
    if (!feed.hearing) continue;
    const told = [...record.seen.keys()].flatMap((name) => toldBy(`msg_${feed.id}-${name}`) ?? []);
    add('readers of feeds that do not have what is listed', compareWithListing(evidence, feed, told));
  }
}

function eventsOf(feed: ChaosFeed, { stored, withdrawn }: Evidence): FeedEvent[] {
  const gone = withdrawn.filter((it) => matches(feed, it));
  const heard = feed.hearing ? gone : [];
  return [
    ...stored
      .filter((it) => matches(feed, it))
      .map(({ id, name }) => ({ name: id, movement: name, place: BigInt(id), isGone: false })),
    ...gone.map(({ id, name }) => ({ name: id, movement: name, place: BigInt(id), isGone: true })),
    ...heard.map(({ id, eventId, name }) => ({
      ...{ name: `${id}-withdrawn`, movement: name, place: BigInt(eventId), isGone: false },
    })),
  ];
}

const findMissed = (events: readonly FeedEvent[], { seen }: FeedRecord): string[] =>
  events
    .filter(({ name, movement, isGone }) => !(isGone && !seen.has(name)) && seen.get(name) !== movement)
    .map(({ name }) => name);

/** @returns the events that came after a later one of the same page. */
function findLate(events: readonly FeedEvent[], { order }: FeedRecord): string[] {
  const places = new Map(events.map(({ name, place }) => [name, place]));
  const placeOf = (name: string | undefined) => places.get(name ?? '') ?? 0n;
  return order.flatMap((page) => page.filter((name, n) => n > 0 && placeOf(name) <= placeOf(page[n - 1])));
}

/** A movement that was withdrawn before it was acknowledged has failed, whether it was read or not. */
function findWrongCounts(
  { id }: ChaosFeed,
  { counts }: Evidence,
  events: readonly FeedEvent[],
  { seen }: FeedRecord,
): string[] {
  const count = counts.find(({ webhookId }) => webhookId === id);
  const [matched, delivered, failed] = [count?.matched, count?.delivered, count?.failed].map(Number);
  const gone = events.filter(({ isGone }) => isGone);
  const unread = gone.filter(({ name }) => !seen.has(name)).length;
  const isRight =
    matched === events.length &&
    delivered === events.length - Number(failed) &&
    unread <= Number(failed) &&
    Number(failed) <= gone.length;
  return isRight
    ? []
    : [
        `${matched} matched, ${delivered} delivered and ${failed} failed, of ${events.length} with ${unread} to ${gone.length} failed,`,
      ];
}
