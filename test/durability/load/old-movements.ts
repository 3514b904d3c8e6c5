import { setTimeout as sleep } from 'node:timers/promises';
import type { RowDataPacket } from 'mysql2/promise';
import type { StoredMovement } from '../checker.ts';
import type { Dice } from '../dice.ts';
import { readStored } from '../evidence.ts';
import { OLD_BEFORE } from '../old.ts';
import type { Installation } from '../service.ts';
import { makeMovements } from './movements.ts';
import { type ClientRecord, sendUntilAcknowledged } from './upload.ts';

const PER_CUSTOMER = 300;
const STORED_WITHIN = 60_000;

/** Movements that retention may remove, with the imports that brought them. */
export interface OldMovements {
  movements: readonly StoredMovement[];
  importIds: readonly string[];
}

/**
 * Sends movements of an old time, and waits until they are stored. Nothing sends them again, because what has been removed is rejected. They
 * are the first of each customer, because retention removes only movements whose ids are before those of younger ones.
 */
export async function sendOldMovements(
  { customers, url, sql }: Pick<Installation, 'customers' | 'url' | 'sql'>,
  record: ClientRecord,
  dice: Dice,
): Promise<OldMovements> {
  for (const { id: customerId, apiKey, accountIds } of customers) {
    const name = `c${customerId}old`;
    const idOf = (index: number) => `${name}-${index}`;
    const made = makeMovements(dice, { count: PER_CUSTOMER, accountIds, idOf, padding: 0 });
    const movements = made.map((it) => ({
      ...it,
      date_issue: String(it.date_issue).replace('2026', '2024'),
    }));
    for (const { unique_id, account_id, dc } of made)
      record.sent.set(unique_id, { customerId, accountId: account_id, dc, acknowledged: true, copies: 1 });
    await sendUntilAcknowledged(
      { name, target: { url }, apiKey, dice, record },
      { type: 'application/json', body: JSON.stringify({ transactions: movements }), key: name, slowly: 0 },
    );
  }
  const end = performance.now() + STORED_WITHIN;
  for (;;) {
    const movements = await readStored(sql);
    if (movements.length === customers.length * PER_CUSTOMER) {
      const [imports] = await sql.query<RowDataPacket[]>(
        'SELECT DISTINCT CAST(import_id AS CHAR) AS id FROM transactions WHERE date_issue < ?',
        [OLD_BEFORE],
      );
      return { movements, importIds: imports.map(({ id }) => String(id)) };
    }
    if (performance.now() > end) throw new Error(`only ${movements.length} old movements were stored`);
    await sleep(200);
  }
}
