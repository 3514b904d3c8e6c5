import { randomBytes } from 'node:crypto';
import { createSecretBox, SEALED } from '../../src/database/secret-box.ts';
import type { BodyFormat } from '../../src/delivery/posting/body.ts';
import { openSettings, type Settings } from '../../src/delivery/posting/request.ts';
import type { WebhookSettings } from '../../src/webhook-record/record.ts';

const box = createSecretBox(randomBytes(32).toString('base64'));

/** Opens the settings of a webhook that has never failed, so that its requests are those of the service. */
export function openWebhookSettings({
  id,
  customerId,
  endpoint,
  event = 'NEW_TRANSACTION',
  withdrawals = 0,
  secret,
  previous,
  apiSecret,
  encoding,
  hashEncoding,
}: BodyFormat & {
  id: string;
  customerId: string;
  endpoint: string;
  event?: WebhookSettings['event'];
  /** 1: the webhook lists WITHDRAWN_TRANSACTION too. */
  withdrawals?: WebhookSettings['withdrawals'];
  secret: string;
  /** The secret before a rotation, which signs too. */
  previous?: string | undefined;
  apiSecret: string;
}): Settings {
  const seal = (text: string) => box.seal(text, SEALED.webhookSecret(id));
  return openSettings(
    {
      id,
      customer_id: customerId,
      template_id: null,
      is_template: 0,
      external_id: null,
      settings_revision: 1,
      status: 'active',
      account_id: null,
      delivery: 'push',
      endpoint,
      event,
      withdrawals,
      revision: 1,
      secret: seal(secret),
      previous_secret: previous === undefined ? null : seal(previous),
      encoding,
      body: 'standard',
      hash_encoding: hashEncoding,
      ordered: 0,
      rate_limit: null,
      max_in_flight: 16,
      batch_max: null,
      batch_wait_ms: 0,
      headers: null,
      api_secret: box.seal(apiSecret, SEALED.apiSecret(customerId)),
      consecutive_failures: 0,
      failing_since: null,
      failing_days: 0,
      circuit_openings: 0,
      recovery_successes: null,
      consecutive_rejections: 0,
      batch_limit: null,
      last_error: null,
    },
    box,
  );
}
