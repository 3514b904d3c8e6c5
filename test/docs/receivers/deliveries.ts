import { randomBytes } from 'node:crypto';
import { type BodyFormat, buildBody } from '../../../src/delivery/posting/body.ts';
import { createSigner } from '../../../src/delivery/posting/signature.ts';
import type { PostRequest } from '../../../src/delivery/posting/types.ts';
import type { NotifiedMovement } from '../../../src/delivery/run/types.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';
import { batchBody } from '../../sdk/batch-vectors.ts';
import { openWebhookSettings } from '../../support/webhook-settings.ts';

/** Deliveries as the service builds and signs them. */

/** Text that a receiver gets wrong when it reads the body in another encoding, or writes it again. */
export const MOVEMENT: NotifiedMovement = {
  transaction_id: '7',
  dc: 'Credit',
  code: 'EFT',
  amount: '1250.00',
  balance: null,
  currency: 'TRY',
  description: 'ÇİĞDEM ŞEN + %10 & EFT=1 "iade" 🎂 a/b',
  account_id: '1',
  account: 'Ana Hesap',
  bank: 'Garanti BBVA',
  opponent_id: ' 0012',
  opponent_iban: 'TR380006400000099423106133',
  date_issue: '2026-02-01',
};

export interface SigningWebhook {
  secret: string;
  apiSecret: string;
  /**
   * Builds the whole POST of a delivery, as it was `age` seconds ago. Its origin has no port.
   * @param id as `3-7`, or `3-7-withdrawn` for the withdrawal of this movement.
   */
  request(id: string, age?: number): PostRequest;
  /** Builds a signed batch of deliveries, with such ids and each with this description. */
  batch(ids: readonly string[], description?: string): PostRequest;
}

/** The movement of a delivery, or its withdrawal. */
function contentOf(id: string): NotifiedMovement {
  const withdraws = /^\d+-(\d+)-withdrawn$/.exec(id)?.[1];
  return withdraws === undefined ? MOVEMENT : { ...MOVEMENT, withdraws };
}

/** A webhook with new secrets, for movements and their withdrawals. With `previous`, its secret was rotated and both sign. */
export function createSigningWebhook({
  encoding = 'json',
  hashEncoding = 'hex',
  previous,
}: Partial<BodyFormat> & { previous?: string } = {}): SigningWebhook {
  const secret = createWebhookSecret();
  const apiSecret = randomBytes(24).toString('base64url');
  const settings = openWebhookSettings({
    id: '3',
    withdrawals: 1,
    customerId: '2',
    endpoint: 'http://127.0.0.1/webhooks',
    secret,
    previous,
    apiSecret,
    encoding,
    hashEncoding,
  });
  return {
    secret,
    apiSecret,
    request: (id, age = 0) => settings.request(contentOf(id), id, Math.floor(Date.now() / 1_000) - age),
    batch(ids, description = MOVEMENT.description ?? '') {
      const batch = `batch_${randomBytes(10).toString('hex')}`;
      const [timestamp, movement] = [Math.floor(Date.now() / 1_000), { ...MOVEMENT, description }];
      const body = batchBody(
        batch,
        ids.map((id) => ({
          id: `msg_${id}`,
          event: 'withdraws' in contentOf(id) ? 'WITHDRAWN_TRANSACTION' : 'NEW_TRANSACTION',
          body: buildBody(movement, { encoding, hashEncoding }, apiSecret),
        })),
      );
      return {
        ...settings.request(MOVEMENT, '', timestamp),
        body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': batch,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': createSigner([secret])(batch, timestamp, body),
        },
      };
    },
  };
}
