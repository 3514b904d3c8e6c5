import { randomBytes } from 'node:crypto';
import type { BodyFormat, NotifiedMovement } from '../../../src/deliveries/posting/notification.ts';
import type { PostRequest } from '../../../src/deliveries/posting/post.ts';
import { createWebhookSecret } from '../../../src/deliveries/posting/signature.ts';
import { openSettings } from '../../../src/deliveries/settings.ts';
import { createSecretBox, SEALED } from '../../../src/platform/database/secret-box.ts';

/** Deliveries as the service builds and signs them. */

const box = createSecretBox(randomBytes(32).toString('base64'));

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
  /** Builds the whole POST of a delivery, as it was `age` seconds ago. Its origin has no port. */
  request(id: string, age?: number): PostRequest;
}

/** A webhook with new secrets. With `previous`, its secret was rotated and both sign. */
export function createSigningWebhook({
  encoding = 'json',
  hashEncoding = 'hex',
  previous,
}: Partial<BodyFormat> & { previous?: string } = {}): SigningWebhook {
  const secret = createWebhookSecret();
  const apiSecret = randomBytes(24).toString('base64url');
  const settings = openSettings(
    {
      id: '3',
      customer_id: '2',
      endpoint: 'http://127.0.0.1/webhooks',
      event: 'NEW_TRANSACTION',
      revision: 1,
      secret: box.seal(secret, SEALED.webhookSecret('3')),
      previous_secret: previous === undefined ? null : box.seal(previous, SEALED.webhookSecret('3')),
      encoding,
      body: 'standard',
      hash_encoding: hashEncoding,
      ordered: 0,
      rate_limit: null,
      max_in_flight: 16,
      headers: null,
      api_secret: box.seal(apiSecret, SEALED.apiSecret('2')),
      consecutive_failures: 0,
      failing_since: null,
      failing_days: 0,
      circuit_openings: 0,
      recovery_successes: null,
      consecutive_rejections: 0,
      last_error: null,
    },
    box,
  );
  return {
    secret,
    apiSecret,
    request: (id, age = 0) => settings.request(MOVEMENT, id, Math.floor(Date.now() / 1_000) - age),
  };
}
