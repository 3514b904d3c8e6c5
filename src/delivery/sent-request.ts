import type { SecretBox } from '../database/secret-box.ts';
import type { Sql } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import { type DeliveryKey, formatDeliveryId } from './delivery-id.ts';
import { extend, MOVEMENT_COLUMNS } from './engine/logged-movement.ts';
import { openSettings } from './engine/request.ts';
import type { NotifiedEvent, NotifiedMovement } from './posting/notification.ts';
import { readStates } from './webhook-state.ts';

/** Rebuilds the POST of a delivery, to show it to an operator. */

const MASK = '•••';

/** Indexes: the primary keys. */
const MOVEMENT = `
  SELECT ${MOVEMENT_COLUMNS}
  FROM transactions t JOIN accounts a ON a.id = t.account_id JOIN banks b ON b.id = a.bank_id WHERE t.id = ?`;

/** Index: the primary key. */
const EVENT = `
  SELECT e.type, e.data, DATE_FORMAT(e.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp FROM operational_events e WHERE e.id = ?`;

/** Headers whose values are shown. The values of all other headers are masked, because they may be credentials. */
const SHOWN = [
  'content-type',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'ledgerbell-transaction-id',
  'ledgerbell-date-issue',
];

export interface SentRequest {
  url: string;
  headers: [name: string, value: string][];
  body: string;
}

/**
 * Rebuilds the POST of a delivery from the movement or event and the webhook's settings. Masks the values of custom headers, the
 * signature and the hash.
 * @param sentAt when the attempt began.
 * @returns null when the movement, the event or the webhook does not exist any more.
 */
export async function rebuildRequest(
  sql: Sql,
  secrets: SecretBox,
  key: DeliveryKey,
  sentAt: Date,
): Promise<SentRequest | null> {
  const [state] = await readStates(sql, [key.webhookId]);
  if (state == null) return null;
  const content = isOfEvents(state.settings.event) ? EVENT : MOVEMENT;
  const [found] = await sql.query<(NotifiedMovement | NotifiedEvent)[]>(content, [key.transactionId]);
  if (found === undefined) return null;
  const [sent = found] =
    state.settings.body === 'extended' && 'transaction_id' in found ? await extend(sql, [found]) : [];
  const settings = openSettings(state.settings, secrets);
  const timestamp = Math.floor(sentAt.getTime() / 1_000);
  const { origin, path, headers, body } = settings.request(sent, formatDeliveryId(key), timestamp);
  return {
    url: `${origin}${path}`,
    headers: Object.entries(headers).map(([name, value]) => [
      name,
      SHOWN.includes(name) ? String(value) : MASK,
    ]),
    // In both encodings, no other value can contain the name of the hash with an unescaped quote or ampersand.
    body: body.replace(/("hash":"|&hash=)[^"&]+/, `$1${MASK}`),
  };
}
