import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { OLD_BEFORE } from '../old.ts';
import type { Installation } from '../service.ts';

/** Of each customer and fault, so that several faults of a run have something to do. */
const AT_A_TIME = 100;

/** Only what is recorded as of now becomes older, and only once. */
const OLDER = (column: string) => `${column} = ${column} - INTERVAL 3 YEAR`;

const NEXT = `SELECT id FROM transactions WHERE customer_id = ? AND date_issue < '${OLD_BEFORE}' AND date_readed >= '${OLD_BEFORE}'
  ORDER BY id LIMIT ${AT_A_TIME}`;
const AGE_MOVEMENTS = `UPDATE transactions SET ${OLDER('date_readed')} WHERE id IN (?)`;

const AGED = `SELECT id, import_id FROM transactions WHERE customer_id = ? AND date_readed < '${OLD_BEFORE}'`;
/** Deliveries that are pending stay as they are, and become older with a later fault. */
const AGE_RESULTS = [
  `UPDATE deliveries SET ${OLDER('started_at')}
   WHERE webhook_id IN (?) AND transaction_id IN (?) AND status <> 'pending' AND started_at >= '${OLD_BEFORE}'`,
  `UPDATE attempts SET ${OLDER('started_at')}
   WHERE webhook_id IN (?) AND transaction_id IN (?) AND started_at >= '${OLD_BEFORE}'`,
];
const AGE_IMPORTS = `UPDATE imports SET ${OLDER('received_at')}, ${OLDER('finished_at')}
  WHERE id IN (?) AND status = 'done' AND finished_at >= '${OLD_BEFORE}'`;

/** The connection of the maintenance process that leads; see startLeader. */
const LEADER = `SELECT IS_USED_LOCK(CONCAT('ledgerbell.maintenance.', LEFT(SHA2(DATABASE(), 256), 16))) AS id`;

/**
 * Makes the next old movements, their deliveries and their imports older than retention keeps them. Then lets retention run: it runs once an
 * hour, and when a process begins to lead, so the connection of the leader is killed.
 * @returns a note for the report.
 */
export async function makeOld({
  sql,
  customers,
  webhooks,
}: Pick<Installation, 'sql' | 'customers' | 'webhooks'>): Promise<string> {
  let movements = 0;
  let results = 0;
  for (const { id: customerId } of customers) {
    const next = await idsOf(sql, NEXT, customerId);
    if (next.length > 0) await sql.query(AGE_MOVEMENTS, [next]);
    movements += next.length;
    const webhookIds = webhooks.filter(({ customer }) => customer.id === customerId).map(({ id }) => id);
    const [aged] = await sql.query<RowDataPacket[]>(AGED, [customerId]);
    if (aged.length === 0) continue;
    const ids = aged.map(({ id }) => id);
    for (const statement of AGE_RESULTS) {
      const [{ affectedRows }] = await sql.query<ResultSetHeader>(statement, [webhookIds, ids]);
      results += affectedRows;
    }
    await sql.query(AGE_IMPORTS, [[...new Set(aged.map(({ import_id }) => import_id))]]);
  }
  const [[leader]] = await sql.query<RowDataPacket[]>(LEADER);
  if (leader?.id != null) await sql.query(`KILL ${leader.id}`);
  return `${movements} movements and ${results} results made old`;
}

async function idsOf(sql: Pool, statement: string, customerId: string): Promise<string[]> {
  const [rows] = await sql.query<RowDataPacket[]>(statement, [customerId]);
  return rows.map(({ id }) => String(id));
}
