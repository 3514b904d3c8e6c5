import { causeOf } from './causes.ts';
import type { InjectedFault } from './faults/inject.ts';
import { checkFeeds } from './feed-checks.ts';
import type { FeedRecord } from './load/feed-reader.ts';
import type { PollerRecord } from './load/poller.ts';
import type { Sent } from './load/upload.ts';
import type { Receipt } from './receipts.ts';
import { ANSWERS_HALF } from './receiver-modes.ts';
import { type ChaosFeed, type ChaosWebhook, matches, messageOf, toldBy } from './webhooks.ts';
import { checkListings, checkWithdrawals, compareWithListing } from './withdrawal-checks.ts';

export interface StoredMovement {
  id: string;
  customerId: string;
  accountId: string;
  dc: 'Debit' | 'Credit';
  uniqueId: string;
  /** The first word of its description. */
  name: string;
}

/** A movement that was withdrawn, with the id of the event that tells of it. */
export interface WithdrawnMovement extends StoredMovement {
  eventId: string;
  withdrawalId: string;
}

/** A row of `withdrawals`. */
export interface EndedWithdrawal {
  id: string;
  status: string;
  withdrawn: number;
  kept: number;
}

export type ListedMovement = Pick<StoredMovement, 'id' | 'customerId' | 'accountId' | 'dc'>;

/** What `GET /v1/transactions` lists of a customer at the end, and what it lists with `withdrawn=only`. */
export interface Listing {
  customerId: string;
  stored: readonly ListedMovement[];
  withdrawn: readonly ListedMovement[];
}

/** A row of `deliveries`. A delivery that was never attempted has none. transactionId: of a withdrawal, the id of its event. */
export interface RecordedDelivery {
  webhookId: string;
  transactionId: string;
  status: string;
  error: string | null;
}

/** The counters of a webhook or a feed. */
export interface WebhookCount {
  webhookId: string;
  matched: number | string;
  delivered: number | string;
  failed: number | string;
}

/** Everything a run leaves behind, to be compared with each other. */
export interface Evidence {
  sent: ReadonlyMap<string, Sent>;
  stored: readonly StoredMovement[];
  withdrawn: readonly WithdrawnMovement[];
  withdrawals: readonly EndedWithdrawal[];
  /** The withdrawals that were accepted: what each is of, by its id. */
  asked: ReadonlyMap<string, string>;
  listings: readonly Listing[];
  /** Movements that retention may have removed, with their deliveries, once they were delivered. Empty if nothing was made old. */
  old: readonly StoredMovement[];
  webhooks: readonly ChaosWebhook[];
  recorded: readonly RecordedDelivery[];
  /** Imports whose counts do not agree with what is stored for them. */
  miscounted: readonly string[];
  /** Withdrawals and segments whose counts do not agree with it. */
  miscountedWithdrawals: readonly string[];
  miscountedSegments: readonly string[];
  /** Movements of withdrawn imports that are stored although nothing else has them. */
  keptWithoutCause: readonly string[];
  /** In order of arrival. */
  receipts: readonly Receipt[];
  pollers: readonly PollerRecord[];
  feeds: readonly ChaosFeed[];
  feedRecords: readonly FeedRecord[];
  /** Of all webhooks and feeds. */
  counts: readonly WebhookCount[];
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
  withdrawn: number;
  matched: number;
  posts: number;
  delivered: number;
  /** Deliveries of withdrawn movements that have failed. */
  ended: number;
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
  'counted otherwise by webhooks',
  'withdrawals that are not done',
  'withdrawals that miscount',
  'withdrawn and never asked for, or changed',
  'both stored and withdrawn',
  'lost by a withdrawal',
  'kept without a cause',
  'withdrawn, and pending or failed for another reason',
  'receivers that do not have what is listed',
  'readers of feeds that do not have what is listed',
  'listed otherwise than stored',
  'segments of the listing that miscount',
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
  const { delivered, ended, explained } = checkReceipts(evidence, expected, findings);
  // A poller may have been cut off until a movement was removed.
  checkPollers(given, findings);
  checkFeeds(evidence, findings);
  checkWithdrawals(given, findings);
  checkListings(given, findings);
  const acknowledged = [...evidence.sent.values()].filter((it) => it.acknowledged).length;
  return {
    sent: evidence.sent.size,
    acknowledged,
    stored: evidence.stored.length,
    removed: removed.length,
    withdrawn: evidence.withdrawn.length,
    matched: expected.size,
    posts: evidence.receipts.length,
    delivered,
    ended,
    explained,
    findings,
  };
}

export type Findings = Record<Finding, string[]>;

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

/** An event of a movement that a webhook matches. */
interface Expected {
  webhookId: string;
  /** The movement. */
  transactionId: string;
  name: string;
  /** The place of the event in the log: the id of the movement, or of the withdrawal. */
  place: string;
  /** A new movement that was withdrawn, so that it may have failed. */
  mayFail: boolean;
  row: RecordedDelivery | undefined;
}

/**
 * @returns the expected deliveries by their `webhook-id`: for each webhook, the movements that match it, and the withdrawals of these if it
 * hears of them.
 */
function checkMatches(
  { stored, withdrawn, webhooks, recorded }: Evidence,
  findings: Findings,
): Map<string, Expected> {
  const keyOf = (webhookId: string, place: string) => `${webhookId}-${place}`;
  const rows = new Map(recorded.map((it) => [keyOf(it.webhookId, it.transactionId), it]));
  const expected = new Map<string, Expected>();
  const events = [
    ...stored.map((it) => ({ ...it, place: it.id, isWithdrawal: false, mayFail: false })),
    ...withdrawn.map((it) => ({ ...it, place: it.id, isWithdrawal: false, mayFail: true })),
    ...withdrawn.map((it) => ({ ...it, place: it.eventId, isWithdrawal: true, mayFail: false })),
  ];
  for (const event of events) {
    for (const webhook of webhooks) {
      if (!matches(webhook, event) || (event.isWithdrawal && !webhook.hearing)) continue;
      const { id: movementId, name, place, isWithdrawal, mayFail } = event;
      const key = keyOf(webhook.id, place);
      expected.set(messageOf({ webhookId: webhook.id, movementId, isWithdrawal }), {
        ...{ webhookId: webhook.id, transactionId: movementId, name, place, mayFail },
        row: rows.get(key),
      });
      rows.delete(key);
    }
  }
  findings['delivered and not matched'].push(...rows.keys());
  return expected;
}

function checkReceipts(
  evidence: Evidence,
  expected: ReadonlyMap<string, Expected>,
  findings: Findings,
): Pick<Verdict, 'delivered' | 'ended' | 'explained'> {
  const { receipts, webhooks, faults, affected } = evidence;
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
      delivery.name === name;
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
      const id = BigInt(delivery?.place ?? transactionId);
      const before = newest.get(webhookId) ?? 0n;
      if (id < before) findings['out of order'].push(`${message} at webhook ${webhookId} after ${before}`);
      else newest.set(webhookId, id);
    }
    arrived.add(message);
    if (receipt.answeredAt !== null) answered.set(message, receipt);
    else if (ANSWERS_HALF.has(mode) || wasKilledAnswering(receipt, faults)) perhaps.add(message);
  }

  const old = new Set(evidence.old.map(({ id }) => id));
  let delivered = 0;
  let ended = 0;
  const counts = new Map<string, { matched: number; delivered: number; failed: number }>();
  for (const [message, { row, webhookId, transactionId, mayFail }] of expected) {
    const status = row?.status;
    const isRecorded = status === 'delivered' || (status === undefined && old.has(transactionId));
    const count = counts.get(webhookId) ?? { matched: 0, delivered: 0, failed: 0 };
    counts.set(webhookId, count);
    count.matched += 1;
    if (isRecorded) count.delivered += 1;
    if (status === 'failed') count.failed += 1;
    if (isRecorded && (answered.has(message) || perhaps.has(message))) delivered += 1;
    else if (mayFail && status === 'failed' && row?.error?.startsWith('The movement was withdrawn.'))
      ended += 1;
    else if (mayFail && status !== 'delivered') {
      findings['withdrawn, and pending or failed for another reason'].push(
        `${message} is ${status ?? 'without a row'}: ${row?.error}`,
      );
    } else {
      const state = status ?? 'without a row';
      findings['matched and never delivered'].push(`${message} of webhook ${webhookId} is ${state}`);
    }
  }
  checkCounts(evidence, counts, findings);
  const accepted = new Set([...answered.keys(), ...perhaps]);
  const told = [...accepted].flatMap((message) => toldBy(message) ?? []);
  for (const webhook of webhooks.filter(({ hearing }) => hearing)) {
    const own = told.filter(({ webhookId }) => webhookId === webhook.id);
    const other = compareWithListing(evidence, webhook, own);
    findings['receivers that do not have what is listed'].push(
      ...other.map((it) => `${it}, at webhook ${webhook.id}`),
    );
  }
  return { delivered, ended, explained };
}

function checkCounts(
  { counts }: Evidence,
  right: ReadonlyMap<string, { matched: number; delivered: number; failed: number }>,
  findings: Findings,
): void {
  for (const [webhookId, { matched, delivered, failed }] of right) {
    const count = counts.find((it) => it.webhookId === webhookId);
    const [theirs, ours] = [
      `${count?.matched} matched, ${count?.delivered} delivered, ${count?.failed} failed`,
      `${matched} matched, ${delivered} delivered, ${failed} failed`,
    ];
    if (theirs !== ours)
      findings['counted otherwise by webhooks'].push(`webhook ${webhookId}: ${theirs}, and not ${ours}`);
  }
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

const time = (at: number | null) => (at === null ? 'never' : new Date(at).toISOString().slice(11, 23));
