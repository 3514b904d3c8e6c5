import { describe, expect, it } from 'vitest';
import { check, type Expected, FINDINGS, type Tables } from './checker.ts';
import type { Receipt } from './receipts.ts';

const receipt = (transactionId: string, at: number, fields: Partial<Receipt> = {}): Receipt => {
  const customerId = transactionId === '103' ? '2' : '1';
  return {
    number: `1-${at}`,
    at,
    customerId,
    externalId: `kunde ${customerId}/ü`,
    message: `msg_${Number(customerId) + 10}-${transactionId}`,
    transactionId,
    name: `m${transactionId}`,
    mode: 'normal',
    signatures: 1,
    inFlight: 1,
    hash: 'verified',
    problem: '',
    answeredAt: at + 5,
    ...fields,
  };
};
const expectedOf = (customerId: string, isMatched = true): Expected => ({
  customerId,
  externalId: `kunde ${customerId}/ü`,
  isMatched,
});

/** Two customers. The movement 101 was stored before its customer had a webhook. */
const evidence = () => ({
  expected: new Map([
    ['m101', expectedOf('1', false)],
    ['m102', expectedOf('1')],
    ['m103', expectedOf('2')],
  ]),
  customerIds: ['1', '2'],
  tables: {
    stored: [
      { id: '101', customerId: '1', name: 'm101' },
      { id: '102', customerId: '1', name: 'm102' },
      { id: '103', customerId: '2', name: 'm103' },
    ],
    deliveries: [
      { webhookId: '11', transactionId: '102', status: 'delivered' },
      { webhookId: '12', transactionId: '103', status: 'delivered' },
    ],
    webhooks: [
      { id: '11', customerId: '1', status: 'active', matched: '1', delivered: '1', failed: '0' },
      { id: '12', customerId: '2', status: 'active', matched: '1', delivered: '1', failed: '0' },
    ],
  } satisfies Tables as Tables,
  receipts: [receipt('102', 1_000), receipt('103', 2_000)],
  kills: [{ name: 'delivery 0', at: 100_000 }],
});

type Found = ReturnType<typeof evidence>;
const findingsOf = (found: Found) => {
  const { findings } = check(found);
  return FINDINGS.filter((name) => findings[name].length > 0);
};

describe('the checker of templates', () => {
  it('finds nothing wrong with a right run', () => {
    expect(findingsOf(evidence())).toEqual([]);
  });

  it.each<[string, (found: Found) => void, string[]]>([
    ['a lost movement', ({ expected }) => expected.set('m104', expectedOf('1')), ['accepted and not stored']],
    [
      'a movement with the header of another customer',
      ({ receipts }) =>
        receipts.push(receipt('103', 3_000, { customerId: '1', message: 'msg_11-103', answeredAt: null })),
      ['received for another customer'],
    ],
    [
      'a movement from before the webhook',
      ({ receipts }) => receipts.push(receipt('101', 3_000)),
      ['received and not stored, or not matched'],
    ],
    ['a movement that was not received', ({ receipts }) => receipts.pop(), ['not received']],
    [
      'a movement that was received and never accepted',
      ({ receipts }) => receipts.splice(1, 1, receipt('103', 2_000, { answeredAt: null })),
      ['not received'],
    ],
    [
      'a delivery that is pending',
      ({ tables }) =>
        tables.deliveries.splice(0, 1, { webhookId: '11', transactionId: '102', status: 'pending' }),
      ['not delivered, or a delivery that should not exist'],
    ],
    [
      'a wrong signature',
      ({ receipts }) => receipts.push(receipt('103', 3_000, { problem: 'wrong', answeredAt: null })),
      ['signature or hash wrong'],
    ],
    [
      'a counter',
      ({ tables }) => {
        const [first] = tables.webhooks;
        if (first !== undefined) first.matched = '2';
      },
      ['counters that do not agree with the rows'],
    ],
    [
      'a customer without a webhook',
      ({ customerIds }) => customerIds.push('3'),
      ['customers without one webhook'],
    ],
    [
      'a duplicate without a cause',
      ({ receipts }) => receipts.push(receipt('103', 3_000)),
      ['duplicates without a cause'],
    ],
  ])('finds %s', (_, change, expected) => {
    const found = evidence();
    change(found);
    expect(findingsOf(found)).toEqual(expected);
  });

  it('counts a duplicate after a kill, and finds nothing wrong with it', () => {
    const found = evidence();
    found.receipts.push(receipt('103', 3_000));
    found.kills.push({ name: 'delivery 0', at: 2_500 });
    expect(findingsOf(found)).toEqual([]);
    expect(check(found).duplicates).toBe(1);
  });
});
