import { describe, expect, it } from 'vitest';
import {
  checkEvidence,
  type Evidence,
  type Finding,
  type RecordedDelivery,
  type StoredMovement,
  type WithdrawnMovement,
} from './checker.ts';
import type { InjectedFault } from './faults/inject.ts';
import { newFeedRecord } from './load/feed-reader.ts';
import type { Sent } from './load/upload.ts';
import type { Receipt } from './receipts.ts';
import type { ChaosWebhook } from './webhooks.ts';

const customer = {
  id: '1',
  apiKey: '',
  apiSecret: '',
  accountIds: ['1', '2'] as const,
  uploadAccount: { id: '3', iban: '' },
  folderAccount: { id: '4', iban: '' },
  folder: '',
};
const webhook = (id: string, fields: Partial<ChaosWebhook> = {}): ChaosWebhook => ({
  id,
  sort: 'all',
  customer,
  port: 0,
  secret: '',
  ordered: false,
  event: 'NEW_TRANSACTION',
  hearing: false,
  accountId: null,
  ...fields,
});
const receipt = (webhookId: string, transactionId: string, at: number, suffix = ''): Receipt => ({
  webhookId,
  message: `msg_${webhookId}-${transactionId}${suffix}`,
  transactionId,
  name: `u${transactionId}`,
  at,
  mode: 'normal',
  problem: '',
  answeredAt: at + 10,
});
const fault = (kind: InjectedFault['kind'], start: number): InjectedFault => ({
  at: 0,
  kind,
  which: 0,
  seconds: 0,
  start,
  end: start,
  note: '',
});

const WITHDRAWN = 'The movement was withdrawn.';

/** Two movements, both delivered to an ordered webhook. The second, a debit, is delivered to another one too. */
const evidence = () => ({
  sent: new Map<string, Sent>([
    ['u1', { customerId: '1', accountId: '1', dc: 'Credit' as const, acknowledged: true, copies: 1 }],
    ['u2', { customerId: '1', accountId: '2', dc: 'Debit' as const, acknowledged: true, copies: 1 }],
  ]),
  stored: [
    { id: '1', customerId: '1', accountId: '1', dc: 'Credit' as const, uniqueId: 'u1', name: 'u1' },
    { id: '2', customerId: '1', accountId: '2', dc: 'Debit' as const, uniqueId: 'u2', name: 'u2' },
  ],
  old: [] as StoredMovement[],
  webhooks: [webhook('1', { ordered: true }), webhook('2', { event: 'NEW_DEBIT' })],
  withdrawn: [] as WithdrawnMovement[],
  withdrawals: [] as Evidence['withdrawals'][number][],
  asked: new Map<string, string>(),
  listings: [
    {
      customerId: '1',
      stored: [
        { id: '1', customerId: '1', accountId: '1', dc: 'Credit' as const },
        { id: '2', customerId: '1', accountId: '2', dc: 'Debit' as const },
      ],
      withdrawn: [] as { id: string; customerId: string; accountId: string; dc: 'Debit' }[],
    },
  ],
  miscounted: [] as string[],
  miscountedWithdrawals: [] as string[],
  miscountedSegments: [] as string[],
  keptWithoutCause: [] as string[],
  recorded: [
    { webhookId: '1', transactionId: '1', status: 'delivered', error: null },
    { webhookId: '1', transactionId: '2', status: 'delivered', error: null },
    { webhookId: '2', transactionId: '2', status: 'delivered', error: null },
  ] as RecordedDelivery[],
  receipts: [receipt('1', '1', 1_000), receipt('1', '2', 2_000), receipt('2', '2', 3_000)],
  pollers: [
    {
      customerId: '1',
      seen: new Map([
        ['1', 'u1'],
        ['2', 'u2'],
      ]),
      disorder: [] as string[],
      wrong: [],
      pages: 1,
    },
  ],
  feeds: [{ ...webhook('3', { event: 'NEW_DEBIT' }) }],
  feedRecords: [{ ...newFeedRecord('3'), seen: new Map([['2', 'u2']]), acknowledged: new Set(['2']) }],
  counts: [
    { webhookId: '1', matched: 2, delivered: 2, failed: 0 },
    { webhookId: '2', matched: 1, delivered: 1, failed: 0 },
    { webhookId: '3', matched: '1', delivered: '1', failed: '0' },
  ],
  faults: [] as InjectedFault[],
  affected: () => true,
});

/**
 * The second movement was withdrawn, and then sent again. Its first delivery to the ordered webhook and to the feed was made, and to the other
 * webhook it has failed.
 */
const withdrawal = () => {
  const given = evidence();
  const [first, second] = given.stored as [StoredMovement, StoredMovement];
  given.webhooks[0] = webhook('1', { ordered: true, hearing: true });
  given.feeds[0] = webhook('3', { event: 'NEW_DEBIT', hearing: true });
  given.sent.set('u2', {
    customerId: '1',
    accountId: '2',
    dc: 'Debit',
    acknowledged: true,
    isWithdrawn: true,
    copies: 1,
  });
  given.stored = [first, { ...second, id: '4' }];
  given.withdrawn = [{ ...second, eventId: '3', withdrawalId: '1' }];
  given.withdrawals = [{ id: '1', status: 'done', withdrawn: 1, kept: 0 }];
  given.asked.set('1', 'imports/2');
  Object.assign(given.listings[0] ?? {}, {
    stored: given.stored,
    withdrawn: [{ id: '2', customerId: '1', accountId: '2', dc: 'Debit' }],
  });
  given.recorded = [
    ...['1', '2', '3', '4'].map((transactionId) => ({
      webhookId: '1',
      transactionId,
      status: 'delivered',
      error: null,
    })),
    { webhookId: '2', transactionId: '2', status: 'failed', error: WITHDRAWN },
    { webhookId: '2', transactionId: '4', status: 'delivered', error: null },
  ];
  given.receipts = [
    receipt('1', '1', 1_000),
    receipt('1', '2', 2_000),
    receipt('1', '2', 3_000, '-withdrawn'),
    { ...receipt('1', '4', 4_000), name: 'u2' },
    { ...receipt('2', '4', 5_000), name: 'u2' },
  ];
  given.pollers[0]?.seen.set('4', 'u2');
  given.feedRecords = [
    {
      ...newFeedRecord('3'),
      seen: new Map(['2', '2-withdrawn', '4'].map((event) => [event, 'u2'])),
      order: [['2', '2-withdrawn'], ['4']],
    },
  ];
  given.counts = [
    { webhookId: '1', matched: 4, delivered: 4, failed: 0 },
    { webhookId: '2', matched: 2, delivered: 1, failed: 1 },
    { webhookId: '3', matched: 3, delivered: 3, failed: 0 },
  ];
  return given;
};

const found = (given: Evidence): Finding[] =>
  Object.entries(checkEvidence(given).findings)
    .filter(([, cases]) => cases.length > 0)
    .map(([name]) => name as Finding);

describe('the checker of a fault run', () => {
  it('finds nothing wrong in correct evidence, and counts it', () => {
    expect(found(evidence())).toEqual([]);
    expect(checkEvidence(evidence())).toMatchObject({
      sent: 2,
      acknowledged: 2,
      stored: 2,
      matched: 3,
      delivered: 3,
    });
  });

  it.each<[Finding, (given: ReturnType<typeof evidence>) => void]>([
    [
      'acknowledged and not stored',
      ({ sent }) =>
        sent.set('u3', { customerId: '1', accountId: '1', dc: 'Debit', acknowledged: true, copies: 1 }),
    ],
    [
      'stored and never sent in, or changed',
      ({ sent }) =>
        sent.set('u1', { customerId: '1', accountId: '2', dc: 'Credit', acknowledged: true, copies: 1 }),
    ],
    [
      'delivered and not matched',
      ({ recorded }) =>
        recorded.push({ webhookId: '2', transactionId: '1', status: 'delivered', error: null }),
    ],
    ['delivered with other content', ({ receipts }) => receipts.push(receipt('2', '1', 4_000))],
    ['matched and never delivered', ({ receipts }) => receipts.pop()],
    [
      'matched and never delivered',
      ({ receipts: [first] }) => Object.assign(first ?? {}, { answeredAt: null }),
    ],
    [
      'delivered with other content',
      ({ receipts: [first] }) => Object.assign(first ?? {}, { problem: 'hash wrong' }),
    ],
    ['imports that miscount', ({ miscounted }) => miscounted.push('1')],
    ['delivered with other content', ({ receipts: [first] }) => Object.assign(first ?? {}, { name: 'u2' })],
    ['duplicates without a cause', ({ receipts }) => receipts.push(receipt('2', '2', 9_000))],
    ['out of order', ({ receipts }) => receipts.reverse()],
    ['missed by pollers', ({ pollers: [poller] }) => poller?.seen.delete('2')],
    ['shown to pollers out of order', ({ pollers: [poller] }) => poller?.disorder.push('2 after 3')],
    ['missed by readers of feeds', ({ feedRecords: [it] }) => it?.seen.delete('2')],
    ['missed by readers of feeds', ({ feedRecords: [it] }) => it?.seen.set('2', 'u1')],
    ['in a feed and not matched', ({ feedRecords: [it] }) => it?.seen.set('1', 'u1')],
    ['repeated by feeds after it was acknowledged', ({ feedRecords: [it] }) => it?.repeatedAfter.push('2')],
    [
      'in feeds out of order, or with another hash',
      ({ feedRecords: [it] }) => it?.spoiled.push('2 has another hash'),
    ],
    ['in feeds out of order, or with another hash', ({ feedRecords: [it] }) => it?.order.push(['2', '2'])],
    ['counted otherwise by feeds', ({ counts: [, , it] }) => Object.assign(it ?? {}, { delivered: '2' })],
    ['counted otherwise by webhooks', ({ counts: [it] }) => Object.assign(it ?? {}, { matched: 3 })],
    ['segments of the listing that miscount', ({ miscountedSegments }) => miscountedSegments.push('1')],
    ['listed otherwise than stored', ({ listings: [it] }) => it?.stored.pop()],
  ])('finds %s', (finding, tamper) => {
    const given = evidence();
    tamper(given);
    expect(found(given)).toEqual([finding]);
  });

  it('finds nothing wrong in a movement that was withdrawn and sent again', () => {
    expect(found(withdrawal())).toEqual([]);
    expect(checkEvidence(withdrawal())).toMatchObject({ stored: 2, withdrawn: 1, matched: 6, delivered: 5 });
  });

  it.each<[Finding[], (given: ReturnType<typeof withdrawal>) => void]>([
    [
      ['withdrawals that are not done'],
      ({ withdrawals: [it] }) => Object.assign(it ?? {}, { status: 'running' }),
    ],
    [['withdrawals that are not done'], ({ asked }) => asked.set('2', 'imports/3')],
    [['withdrawals that miscount'], (it) => it.miscountedWithdrawals.push('1')],
    [['kept without a cause'], ({ keptWithoutCause }) => keptWithoutCause.push('1')],
    [
      ['withdrawn and never asked for, or changed'],
      ({ sent }) => Object.assign(sent.get('u2') ?? {}, { isWithdrawn: false }),
    ],
    [
      ['lost by a withdrawal'],
      ({ sent }) => Object.assign(sent.get('u2') ?? {}, { acknowledged: false, copies: 3 }),
    ],
    [
      ['counted otherwise by webhooks', 'withdrawn, and pending or failed for another reason'],
      ({ recorded }) => Object.assign(recorded[4] ?? {}, { status: 'pending' }),
    ],
    [
      ['withdrawn, and pending or failed for another reason'],
      ({ recorded }) => Object.assign(recorded[4] ?? {}, { error: 'HTTP 500' }),
    ],
    [
      ['matched and never delivered', 'receivers that do not have what is listed'],
      ({ receipts }) => receipts.splice(2, 1),
    ],
    [
      ['missed by readers of feeds', 'readers of feeds that do not have what is listed'],
      ({ feedRecords: [it] }) => it?.seen.delete('2-withdrawn'),
    ],
    [['in feeds out of order, or with another hash'], ({ feedRecords: [it] }) => it?.order[0]?.reverse()],
    [['out of order'], ({ receipts }) => receipts.splice(2, 0, ...receipts.splice(3, 1))],
    [
      ['counted otherwise by feeds'],
      ({ counts: [, , it] }) => Object.assign(it ?? {}, { delivered: 1, failed: 2 }),
    ],
    [['listed otherwise than stored'], ({ listings: [it] }) => it?.withdrawn.pop()],
  ])('finds %s', (findings, tamper) => {
    const given = withdrawal();
    tamper(given);
    expect(found(given)).toEqual(findings);
  });

  it('finds a movement that is both stored and withdrawn', () => {
    const given = withdrawal();
    given.stored = given.stored.map((it) => (it.id === '4' ? { ...it, id: '2' } : it));
    expect(found(given)).toContain('both stored and withdrawn');
  });

  it('lets what was withdrawn arrive after its withdrawal, or never', () => {
    const given = withdrawal();
    given.webhooks[0] = webhook('1', { hearing: true });
    given.receipts.push(...given.receipts.splice(1, 1));
    expect(found(given)).toEqual([]);
    given.receipts.pop();
    Object.assign(given.recorded[1] ?? {}, { status: 'failed', error: WITHDRAWN });
    Object.assign(given.counts[0] ?? {}, { delivered: 3, failed: 1 });
    expect(found(given)).toEqual([]);
  });

  it.each<[string, (given: ReturnType<typeof evidence>) => void]>([
    ['has no row', ({ recorded }) => recorded.pop()],
    ['has failed', ({ recorded: [first] }) => Object.assign(first ?? {}, { status: 'failed' })],
  ])('finds a delivery that %s, and that it was counted as delivered', (_, tamper) => {
    const given = evidence();
    tamper(given);
    expect(found(given)).toEqual(['matched and never delivered', 'counted otherwise by webhooks']);
  });

  it('finds a movement that was stored twice, and that its second copy was neither delivered nor polled', () => {
    const given = evidence();
    given.stored.push({ id: '3', customerId: '1', accountId: '1', dc: 'Credit', uniqueId: 'u1', name: 'u1' });
    expect(found(given)).toEqual([
      'stored twice',
      'matched and never delivered',
      'missed by pollers',
      'counted otherwise by webhooks',
      'listed otherwise than stored',
    ]);
  });

  it('lets retention remove an old movement with its deliveries, but only after it was delivered', () => {
    const given = evidence();
    given.old.push(...given.stored.filter(({ id }) => id === '1'));
    given.stored = given.stored.filter(({ id }) => id !== '1');
    given.listings[0]?.stored.shift();
    given.recorded = given.recorded.filter(({ transactionId }) => transactionId !== '1');
    expect(found(given)).toEqual([]);
    expect(checkEvidence(given)).toMatchObject({ stored: 2, removed: 1 });
    given.receipts = given.receipts.filter(({ transactionId }) => transactionId !== '1');
    expect(found(given)).toEqual(['matched and never delivered']);
  });

  it('expects a movement to be stored as often as it was sent', () => {
    const given = evidence();
    given.sent.set('u1', { customerId: '1', accountId: '1', dc: 'Credit', acknowledged: true, copies: 2 });
    expect(found(given)).toEqual(['acknowledged and not stored']);
  });

  it.each([
    ['kill delivery', 3_500, true],
    ['kill delivery', 60_000, false],
    ['redis kill', 3_500, false],
    ['deadlock delivery', 3_500, false],
  ] as const)('considers "%s" at %i a cause of a duplicate: %s', (kind, start, explains) => {
    const given = evidence();
    given.receipts.push(receipt('2', '2', 9_000));
    given.faults.push(fault(kind, start));
    expect(found(given)).toEqual(explains ? [] : ['duplicates without a cause']);
    expect(checkEvidence(given).explained.get(kind)).toBe(explains ? 1 : undefined);
  });

  it('counts a half answer as a delivery only if the deliveries table says so', () => {
    const given = evidence();
    Object.assign(given.receipts[2] ?? {}, { mode: 'resets', answeredAt: null });
    expect(found(given)).toEqual([]);
    Object.assign(given.recorded[2] ?? {}, { status: 'pending' });
    expect(found(given)).toEqual(['matched and never delivered', 'counted otherwise by webhooks']);
  });

  it('counts an arrival without an answer as a delivery only if the receiver was killed at that moment', () => {
    const given = evidence();
    const receipt = given.receipts[2];
    Object.assign(receipt ?? {}, { answeredAt: null });
    expect(found(given)).toEqual(['matched and never delivered']);
    given.faults.push(fault('kill receivers', receipt?.at ?? 0));
    expect(found(given)).toEqual([]);
  });
});
