import { causeOf } from './causes.ts';
import type { InjectedFault } from './faults/inject.ts';
import type { FeedRecord } from './load/feed-reader.ts';
import type { PollerRecord } from './load/poller.ts';
import type { Sent } from './load/upload.ts';
import type { Receipt } from './receipts.ts';
import { ANSWERS_HALF } from './receiver-modes.ts';
import { type ChaosFeed, type ChaosWebhook, matches } from './webhooks.ts';

export interface StoredMovement {
  id: string;
  customerId: string;
  accountId: string;
  dc: 'Debit' | 'Credit';
  uniqueId: string;
  /** The first word of its description. */
  name: string;
}

/** A row of `deliveries`. A delivery that was never attempted has none. */
export interface RecordedDelivery {
  webhookId: string;
  transactionId: string;
  status: string;
}

/** The counters of a feed. */
export interface FeedCount {
  webhookId: string;
  delivered: number | string;
  failed: number | string;
}

/** Everything a run leaves behind, to be compared with each other. */
export interface Evidence {
  sent: ReadonlyMap<string, Sent>;
  stored: readonly StoredMovement[];
  /** Movements that retention may have removed, with their deliveries, once they were delivered. Empty if nothing was made old. */
  old: readonly StoredMovement[];
  webhooks: readonly ChaosWebhook[];
  recorded: readonly RecordedDelivery[];
  /** Imports whose counts do not agree with what is stored for them. */
  miscounted: readonly string[];
  /** In order of arrival. */
  receipts: readonly Receipt[];
  pollers: readonly PollerRecord[];
  feeds: readonly ChaosFeed[];
  feedRecords: readonly FeedRecord[];
  feedCounts: readonly FeedCount[];
  faults: readonly InjectedFault[];
  /** Whether a fault of receivers affected this webhook. */
  affected: (fault: InjectedFault, webhookId: string) => boolean;
}

/** Counts, and each case of what must not happen. */
export interface Verdict {
  sent: number;
  acknowledged: number;
  stored: number;
  /** Old movements that are not stored any more. */
  removed: number;
  matched: number;
  posts: number;
  delivered: number;
  explained: Map<string, number>;
  /** Each must be empty. */
  findings: Record<Finding, string[]>;
}

export const FINDINGS = [
  'acknowledged and not stored',
  'stored twice',
  'stored and never sent in, or changed',
  'imports that miscount',
  'delivered and not matched',
  'matched and never delivered',
  'delivered with other content',
  'duplicates without a cause',
  'out of order',
  'missed by pollers',
  'shown to pollers out of order',
  'missed by readers of feeds',
  'in a feed and not matched',
  'repeated by feeds after it was acknowledged',
  'in feeds out of order, or with another hash',
  'counted otherwise by feeds',
] as const;
export type Finding = (typeof FINDINGS)[number];

export function checkEvidence(given: Evidence): Verdict {
  const kept = new Set(given.stored.map(({ id }) => id));
  const removed = given.old.filter(({ id }) => !kept.has(id));
  // Movements that retention removed must have been stored once and delivered, like all others.
  const evidence = { ...given, stored: [...removed, ...given.stored] };
  const findings = Object.fromEntries(FINDINGS.map((name) => [name, [] as string[]])) as Record<
    Finding,
    string[]
  >;
  checkStored(evidence, findings);
  const expected = checkMatches(evidence, findings);
  const { delivered, explained } = checkReceipts(evidence, expected, findings);
  // A poller may have been cut off until a movement was removed.
  checkPollers(given, findings);
  checkFeeds(evidence, findings);
  const acknowledged = [...evidence.sent.values()].filter((it) => it.acknowledged).length;
  return {
    sent: evidence.sent.size,
    acknowledged,
    stored: evidence.stored.length,
    removed: removed.length,
    matched: expected.size,
    posts: evidence.receipts.length,
    delivered,
    explained,
    findings,
  };
}

type Findings = Record<Finding, string[]>;

function checkStored({ sent, stored, miscounted }: Evidence, findings: Findings): void {
  findings['imports that miscount'].push(...miscounted);
  const times = new Map<string, number>();
  for (const { name, customerId, accountId, dc } of stored) {
    times.set(name, (times.get(name) ?? 0) + 1);
    const origin = sent.get(name);
    if (origin?.customerId !== customerId || origin.accountId !== accountId || origin.dc !== dc) {
      findings['stored and never sent in, or changed'].push(name);
    }
  }
  for (const [name, count] of times) {
    const copies = sent.get(name)?.copies ?? 1;
    if (count > copies) findings['stored twice'].push(`${name} ${count} times instead of ${copies}`);
  }
  for (const [name, { acknowledged, copies }] of sent) {
    if (acknowledged && (times.get(name) ?? 0) < copies) findings['acknowledged and not stored'].push(name);
  }
}

/** A pair of webhook and movement that match. */
interface Expected {
  webhookId: string;
  transactionId: string;
  /** The recorded status; undefined if there is no row. */
  status: string | undefined;
}

/** @returns the expected deliveries by their `webhook-id`: for each webhook, the stored movements that match it. */
function checkMatches({ stored, webhooks, recorded }: Evidence, findings: Findings): Map<string, Expected> {
  const statuses = new Map(
    recorded.map(({ webhookId, transactionId, status }) => [messageOf(webhookId, transactionId), status]),
  );
  const expected = new Map<string, Expected>();
  for (const movement of stored) {
    for (const webhook of webhooks) {
      if (!matches(webhook, movement)) continue;
      const message = messageOf(webhook.id, movement.id);
      const status = statuses.get(message);
      expected.set(message, { webhookId: webhook.id, transactionId: movement.id, status });
      statuses.delete(message);
    }
  }
  findings['delivered and not matched'].push(...statuses.keys());
  return expected;
}

const messageOf = (webhookId: string, transactionId: string) => `msg_${webhookId}-${transactionId}`;

function checkReceipts(
  evidence: Evidence,
  expected: ReadonlyMap<string, Expected>,
  findings: Findings,
): Pick<Verdict, 'delivered' | 'explained'> {
  const { stored, receipts, webhooks, faults, affected } = evidence;
  const names = new Map(stored.map(({ id, name }) => [id, name]));
  const ordered = new Set(webhooks.filter((webhook) => webhook.ordered).map(({ id }) => id));
  const newest = new Map<string, bigint>();
  const arrived = new Set<string>();
  const answered = new Map<string, Receipt>();
  const perhaps = new Set<string>();
  const explained = new Map<string, number>();

  for (const receipt of receipts) {
    const { message, webhookId, transactionId, name, mode, problem } = receipt;
    const delivery = expected.get(message);
    const genuine =
      problem === '' &&
      delivery?.webhookId === webhookId &&
      delivery.transactionId === transactionId &&
      names.get(transactionId) === name;
    if (!genuine)
      findings['delivered with other content'].push(`${message} at webhook ${webhookId}: ${problem}`);

    const earlier = answered.get(message);
    if (earlier !== undefined) {
      const cause = causeOf(earlier, faults, (it) => affected(it, webhookId));
      if (cause !== null) explained.set(cause.kind, (explained.get(cause.kind) ?? 0) + 1);
      else {
        const times = `answered ${time(earlier.answeredAt)}, again ${time(receipt.at)}`;
        findings['duplicates without a cause'].push(`${message} at webhook ${webhookId} ${times}`);
      }
    }
    if (ordered.has(webhookId) && !arrived.has(message)) {
      const id = BigInt(transactionId);
      const before = newest.get(webhookId) ?? 0n;
      if (id < before)
        findings['out of order'].push(`${message} at webhook ${webhookId} after movement ${before}`);
      else newest.set(webhookId, id);
    }
    arrived.add(message);
    if (receipt.answeredAt !== null) answered.set(message, receipt);
    else if (ANSWERS_HALF.has(mode) || wasKilledAnswering(receipt, faults)) perhaps.add(message);
  }

  const old = new Set(evidence.old.map(({ id }) => id));
  let delivered = 0;
  for (const [message, { status, webhookId, transactionId }] of expected) {
    const isRecorded = status === 'delivered' || (status === undefined && old.has(transactionId));
    if (isRecorded && (answered.has(message) || perhaps.has(message))) delivered += 1;
    else {
      const state = status ?? 'without a row';
      findings['matched and never delivered'].push(`${message} of webhook ${webhookId} is ${state}`);
    }
  }
  return { delivered, explained };
}

/** A receiver that is killed after its answer and before it has written that down leaves only the line of the arrival. */
const wasKilledAnswering = ({ mode, at }: Receipt, faults: Evidence['faults']): boolean =>
  mode === 'normal' &&
  faults.some(({ kind, start, end }) => kind === 'kill receivers' && at >= start - 1_000 && at <= end);

function checkPollers({ stored, pollers }: Evidence, findings: Findings): void {
  for (const { customerId, seen, disorder } of pollers) {
    for (const { id, customerId: owner, uniqueId } of stored) {
      if (owner === customerId && seen.get(id) !== uniqueId) findings['missed by pollers'].push(id);
    }
    findings['shown to pollers out of order'].push(...disorder);
  }
}

function checkFeeds({ stored, feeds, feedRecords, feedCounts }: Evidence, findings: Findings): void {
  for (const feed of feeds) {
    const matched = new Map(stored.filter((it) => matches(feed, it)).map(({ id, name }) => [id, name]));
    const record = feedRecords.find(({ webhookId }) => webhookId === feed.id);
    const missed = [...matched].filter(([id, name]) => record?.seen.get(id) !== name);
    findings['missed by readers of feeds'].push(...missed.map(([id]) => `${id} by feed ${feed.id}`));
    const other = [...(record?.seen.keys() ?? [])].filter((id) => !matched.has(id));
    findings['in a feed and not matched'].push(...other.map((id) => `${id} in feed ${feed.id}`));
    findings['repeated by feeds after it was acknowledged'].push(...(record?.repeatedAfter ?? []));
    findings['in feeds out of order, or with another hash'].push(...(record?.spoiled ?? []));
    const count = feedCounts.find(({ webhookId }) => webhookId === feed.id);
    if (Number(count?.delivered) !== matched.size || Number(count?.failed) !== 0)
      findings['counted otherwise by feeds'].push(
        `feed ${feed.id} counts ${count?.delivered} and ${count?.failed} failed instead of ${matched.size}`,
      );
  }
}

const time = (at: number | null) => (at === null ? 'never' : new Date(at).toISOString().slice(11, 23));
