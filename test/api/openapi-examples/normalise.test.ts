import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Normaliser } from './normalise.ts';

const RECEIVER = 'http://127.0.0.1:4711';
const MOVEMENT = {
  dc: 'Credit',
  code: 'FAT',
  amount: '1.00',
  balance: '2.00',
  currency: 'TRY',
  description: 'A',
};

/** Answers of a service that is called at a moment, and takes some time for each. */
function answersAt(now: string, tookMs: number) {
  const later = new Date(Date.parse(now) + tookMs).toISOString().replace(/T/, ' ').slice(0, 19);
  const istanbul = new Date(Date.parse(now) + 3 * 3_600_000).toISOString().replace(/T/, ' ').slice(0, 19);
  const created_at = now.replace(/T/, ' ');
  return [
    { import: { id: 1, finished_at: null, received_at: created_at } },
    { imports: [{ id: 1, finished_at: `${later}Z`, received_at: created_at }] },
    { transaction: { id: 1, date_issue: '2025-11-03', date_readed: `${istanbul}+03` } },
    { replay: { id: 1, since: '2025-11-01 00:00:00+03', created_at: `${later}Z` } },
    { events: [{ id: 'msg_2-1', timestamp: Date.parse(now) / 1_000 }] },
  ];
}

const normalised = (answers: readonly unknown[]) => {
  const month = new Normaliser(RECEIVER);
  return answers.map((it) => month.normalise(it));
};

describe('the normaliser', () => {
  it.each(['00:10', '11:59', '12:01', '20:59', '21:01', '23:59'])(
    'gives a moment at %s UTC the same place in the month as at 06:00, however long the service takes',
    (time) => {
      const expected = normalised(answersAt('2026-11-30T06:00:00Z', 0));
      expect(normalised(answersAt(`2026-11-30T${time}:00Z`, 90_000))).toEqual(expected);
      expect(normalised(answersAt(`2027-02-28T${time}:59Z`, 0))).toEqual(expected);
    },
  );

  it('keeps the dates of requests, and the order of the moments of a thing', () => {
    expect(normalised(answersAt('2026-11-30T23:59:00Z', 0))).toEqual([
      { import: { id: 1, finished_at: null, received_at: '2025-11-03 06:30:01Z' } },
      { imports: [{ id: 1, finished_at: '2025-11-03 06:30:02Z', received_at: '2025-11-03 06:30:01Z' }] },
      { transaction: { id: 1, date_issue: '2025-11-03', date_readed: '2025-11-03 09:30:03+03' } },
      { replay: { id: 1, since: '2025-11-01 00:00:00+03', created_at: '2025-11-03 06:30:04Z' } },
      { events: [{ id: 'msg_2-1', timestamp: Date.UTC(2025, 10, 3, 6, 30, 5) / 1_000 }] },
    ]);
  });

  it('makes the hash with the API secret that the examples show', () => {
    const hash = (secret: string) =>
      Buffer.from(
        createHash('sha256')
          .update(Object.values(MOVEMENT).join('') + secret)
          .digest('hex'),
      ).toString('base64');
    const real = 's'.repeat(43);
    const [secret, event] = normalised([{ api_secret: real }, { ...MOVEMENT, hash: hash(real) }]) as [
      { api_secret: string },
      { hash: string },
    ];
    expect(secret.api_secret).toMatch(/^[\w-]{43}$/);
    expect(secret.api_secret).not.toBe(real);
    expect(event.hash).toBe(hash(secret.api_secret));
    expect(() => normalised([{ api_secret: real }, { ...MOVEMENT, hash: hash('other') }])).toThrow(
      'made in another way',
    );
  });

  it('tells secrets apart, and shows the same start of a key in a listing', () => {
    const keys = ['lb_', 'lb_'].map((prefix, at) => prefix + 'ab'.charAt(at).repeat(43));
    const [first, second, listed] = normalised([...keys, `${keys[1]?.slice(0, 9)}… Raporlar`]) as string[];
    expect(first).not.toBe(second);
    expect(listed).toBe(`${second?.slice(0, 9)}… Raporlar`);
  });
});
