import { expect, it, onTestFinished } from 'vitest';
import { startSubscriber } from '../../../src/cli/demo/subscriber.ts';
import { createSigner, movementHash } from '../../../src/delivery/posting/signature.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const apiSecret = 's3cr3t-ğ';

it('the receiver of the demo verifies each event of a batch', async () => {
  const subscriber = await startSubscriber({
    title: 'Books',
    event: 'NEW_TRANSACTION',
    accountRef: null,
    encoding: 'json',
  });
  onTestFinished(subscriber.close);
  subscriber.learn({ secret, apiSecret });
  const fields = {
    dc: 'Debit',
    code: 'EFT',
    amount: '1.50',
    balance: '',
    currency: 'TRY',
    description: 'Kira',
  };
  const send = async (own: string) => {
    const event = { ...fields, hash: movementHash(fields, own, 'hex') };
    const id = 'batch_3-7-a';
    const body = JSON.stringify({
      batch: id,
      events: [7, 8].map((it) => ({ id: `msg_3-${it}`, body: event })),
    });
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': createSigner([secret])(id, timestamp, body),
    };
    return (await fetch(subscriber.url, { method: 'POST', headers, body })).status;
  };
  expect(await send(apiSecret)).toBe(204);
  expect([...subscriber.verified]).toEqual(['7', '8']);
  expect(await send('another')).toBe(401);
  expect(subscriber.problems).toEqual(['The hash in the body is not that of its fields and the API secret.']);
});
