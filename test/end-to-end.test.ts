import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from './support/movements.ts';
import { useReceiver } from './support/receiver.ts';
import { useService } from './support/service.ts';
import { until } from './support/until.ts';
import { subscribe as subscribeEndpoint } from './support/webhooks.ts';

const service = useService();
const receiver = useReceiver();

const subscribe = (key: string, path: string, fields: object = {}) =>
  subscribeEndpoint(service, key, receiver.url + path, fields);

/** Computed here from the specification, not with the product's own code. */
function expectedHash(fields: Record<string, string>, apiSecret: string): string {
  const { dc, code, amount, balance, currency, description } = fields;
  const hex = createHash('sha256')
    .update(`${dc}${code}${amount}${balance}${currency}${description}${apiSecret}`, 'utf8')
    .digest('hex');
  return Buffer.from(hex, 'latin1').toString('base64');
}

describe('the way from an import to a receiver', () => {
  it('sends each new movement once, signed, hashed, and with the twelve fields in their order', async () => {
    const { api_key: key, api_secret } = await service.customer();
    const account = await createAccount(service, key);
    const webhook = await subscribe(key, '/whole');
    const stored = await importMovements(service, key, [
      movement(account.id, { unique_id: 'a' }),
      movement(account.id, {
        unique_id: 'b',
        dc: 'Debit',
        balance: null,
        description: null,
        opponent_id: null,
      }),
    ]);
    expect(stored).toMatchObject({ received: 2, inserted: 2, duplicates: 0, rejected: 0, deliveries: 2 });

    const posts = await until('two POSTs', () => receiver.at('/whole').length === 2 && receiver.at('/whole'));
    for (const { headers, body } of posts) {
      expect(() => new Webhook(webhook.secret).verify(body, headers)).not.toThrow();
      const fields = JSON.parse(body);
      expect(Object.keys(fields)).toEqual(
        'dc code amount balance currency description account_id account bank opponent_id opponent_iban hash'.split(
          ' ',
        ),
      );
      expect(fields.hash).toBe(expectedHash(fields, api_secret));
      expect(headers['user-agent']).toMatch(/^Ledgerbell\/\d+\.\d+\.\d+$/);
      expect(headers['ledgerbell-date-issue']).toBe('2026-01-15');
    }
    const [first, second] = posts
      .map(({ body }) => JSON.parse(body))
      .sort((a, b) => a.dc.localeCompare(b.dc));
    expect(first).toMatchObject({
      dc: 'Credit',
      amount: '1250.00',
      opponent_id: ' 12345678901',
      bank: 'Garanti BBVA',
    });
    expect(second).toMatchObject({ dc: 'Debit', balance: '', description: '', opponent_id: '' });

    const listed = await service.call('GET', '/v1/transactions?starts=2026-01-15', { key });
    expect(posts.map(({ headers }) => headers['ledgerbell-transaction-id']).sort()).toEqual(
      listed.body.transactions.map(({ id }: { id: number }) => String(id)).sort(),
    );
    await until('both marked delivered', async () => {
      const [row] = await service.runtime.database.query<{ n: string }[]>(
        `SELECT COUNT(*) AS n FROM deliveries
         WHERE webhook_id = ? AND status = 'delivered' AND outcome = 'delivered' AND status_code = 200`,
        [webhook.id],
      );
      return row?.n === '2';
    });
  });

  it('sends a form-encoded webhook every field, complete and verifiable', async () => {
    const { api_key: key, api_secret } = await service.customer();
    const account = await createAccount(service, key, { currency: 'EUR' });
    const webhook = await subscribe(key, '/form', { encoding: 'form' });
    await importMovements(service, key, [
      movement(account.id, { description: 'ğüşıöç & = + % "alıntı"\nİki satır 🙂' }),
    ]);
    const [post] = await until('the POST', () => receiver.at('/form').length === 1 && receiver.at('/form'));
    expect(post?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const fields = Object.fromEntries(new URLSearchParams(post?.body));
    expect(fields).toMatchObject({ currency: 'EUR', description: 'ğüşıöç & = + % "alıntı"\nİki satır 🙂' });
    expect(fields.hash).toBe(expectedHash(fields, api_secret));
    // The npm verifier parses JSON; its signature check is the part of interest here.
    const verifier = new Webhook(webhook.secret);
    const sent = new Date(Number(post?.headers['webhook-timestamp']) * 1_000);
    expect(verifier.sign(post?.headers['webhook-id'] ?? '', sent, post?.body ?? '')).toBe(
      post?.headers['webhook-signature'],
    );
  });

  it('sends by event and by account, and to nobody else', async () => {
    const { api_key: key } = await service.customer();
    const one = await createAccount(service, key);
    const two = await createAccount(service, key, { bank: 'Akbank' });
    const stranger = await service.customer('Başkası');
    await subscribe(stranger.api_key, '/stranger');
    await subscribe(key, '/debit', { event: 'NEW_DEBIT' });
    await subscribe(key, '/credit', { event: 'NEW_CREDIT' });
    await subscribe(key, '/second', { account: two.id });
    await subscribe(key, '/second-debit', { account: Number(two.id), event: 'NEW_DEBIT' });
    const stored = await importMovements(service, key, [
      movement(one.id, { dc: 'Debit', unique_id: '1' }),
      movement(one.id, { dc: 'Credit', unique_id: '2' }),
      movement(two.id, { dc: 'Debit', unique_id: '3' }),
      movement(two.id, { dc: 'Credit', unique_id: '4' }),
    ]);
    expect(stored.deliveries).toBe(2 + 2 + 2 + 1);
    const count = (path: string) => receiver.at(path).length;
    await until(
      'all seven POSTs',
      () => count('/debit') + count('/credit') + count('/second') + count('/second-debit') === 7,
    );
    expect([count('/debit'), count('/credit'), count('/second'), count('/second-debit')]).toEqual([
      2, 2, 2, 1,
    ]);
    expect(count('/stranger')).toBe(0);
  });

  it('stores and sends a movement once that is imported twice, or by two requests at the same time', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    await subscribe(key, '/once');
    const file = Array.from({ length: 2_500 }, (_, i) => movement(account.id, { amount: `${i % 7}.10` }));
    const both = await Promise.all([
      importMovements(service, key, file),
      importMovements(service, key, file),
    ]);
    expect(both[0].inserted + both[1].inserted).toBe(2_500);
    expect(both[0].duplicates + both[1].duplicates).toBe(2_500);
    const again = await importMovements(service, key, file);
    expect(again).toMatchObject({ inserted: 0, duplicates: 2_500, deliveries: 0 });
    await until('2,500 POSTs', () => receiver.at('/once').length >= 2_500);
    const ids = new Set(receiver.at('/once').map(({ headers }) => headers['webhook-id']));
    expect([receiver.at('/once').length, ids.size]).toEqual([2_500, 2_500]);
  });
});
