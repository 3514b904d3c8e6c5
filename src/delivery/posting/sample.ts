import { randomBytes } from 'node:crypto';
import type { SecretBox } from '../../database/secret-box.ts';
import type { Sql } from '../../database/transaction.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { nothingSaid } from '../../movements/extended.ts';
import type { WebhookSettings } from '../../webhook-record/record.ts';
import type { NotifiedEvent, NotifiedMovement } from '../run/types.ts';
import { readStates } from '../webhook-state.ts';
import { openSettings } from './request.ts';
import type { PostRequest } from './types.ts';

/** Builds the notification of `POST /v1/webhooks/:id/test`. */

interface SampleAccount {
  account_id: string;
  account: string;
  currency: string;
  bank: string;
}

/** The webhook's own account, or the customer's first one. */
const READ_ACCOUNT = `
  SELECT a.id AS account_id, a.title AS account, a.currency, b.name AS bank
  FROM webhooks w JOIN accounts a ON a.customer_id = w.customer_id AND a.id = COALESCE(w.account_id, a.id)
  JOIN banks b ON b.id = a.bank_id
  WHERE w.id = ? ORDER BY a.id LIMIT 1`;

const INVENTED: SampleAccount = {
  account_id: '0',
  account: 'Sample account',
  currency: 'TRY',
  bank: 'Sample bank',
};

/**
 * Builds a notification without a stored movement or event. Its encoding, headers, hash and signatures are like those of a real
 * notification. It also has the header `webhook-test: true`. Its id, `msg_test_<random>`, is new each time.
 * @returns null when the webhook does not exist any more.
 * @throws {SecretBoxError} when SECRET_KEY is not the key with which the webhook's secrets were sealed.
 */
export async function buildSample(
  sql: Sql,
  secrets: SecretBox,
  { webhookId, event, now }: { webhookId: string; event: string; now: Date },
): Promise<PostRequest | null> {
  const [state] = await readStates(sql, [webhookId]);
  if (state == null || state.settings.status === 'deleted') return null;
  const settings = openSettings(state.settings, secrets);
  const id = `test_${randomBytes(12).toString('base64url')}`;
  const content = isOfEvents(event)
    ? sampleEvent(now)
    : await readSampleMovement(sql, { webhookId, event, now, body: state.settings.body });
  const timestamp = Math.floor(now.getTime() / 1_000);
  const request =
    settings.batch === null
      ? settings.request(content, id, timestamp)
      : settings.batchRequest([{ id, content }], `batch_${id}`, timestamp);
  return { ...request, headers: { ...request.headers, 'webhook-test': 'true' } };
}

/** Makes up a movement that the webhook could match, of one of the customer's accounts. */
export const readSampleMovement = async (
  sql: Sql,
  { webhookId, ...like }: { webhookId: string; event: string; now: Date; body: WebhookSettings['body'] },
): Promise<NotifiedMovement> => sampleMovement(await readAccount(sql, webhookId), like);

const readAccount = async (sql: Sql, webhookId: string): Promise<SampleAccount> =>
  (await sql.query<SampleAccount[]>(READ_ACCOUNT, [webhookId]))[0] ?? INVENTED;

const sampleEvent = (now: Date): NotifiedEvent => ({
  type: 'webhook.test',
  timestamp: now.toISOString(),
  data: JSON.stringify({ message: 'Ledgerbell test notification' }),
});

const sampleMovement = (
  account: SampleAccount,
  { event, now, body }: { event: string; now: Date; body: WebhookSettings['body'] },
): NotifiedMovement => ({
  ...account,
  transaction_id: '0',
  dc: event === 'NEW_DEBIT' ? 'Debit' : 'Credit',
  code: 'TEST',
  amount: '1.00',
  balance: '1.00',
  description: 'Ledgerbell test notification',
  opponent_id: null,
  opponent_iban: null,
  date_issue: now.toISOString().slice(0, 10),
  ...(body === 'extended' ? { extended: nothingSaid(account.currency) } : {}),
});
