import type { Pool, RowDataPacket } from 'mysql2/promise';
import type { Receipt } from './receipts.ts';

/** Compares what was accepted with what is stored, and that with what was received. */

/** A movement that was sent in and acknowledged. */
export interface Expected {
  customerId: string;
  externalId: string;
  /** false: it was stored before its customer had a webhook. */
  isMatched: boolean;
}

interface Stored {
  id: string;
  customerId: string;
  name: string;
}

interface Delivery {
  webhookId: string;
  transactionId: string;
  status: string;
}

interface KeptWebhook {
  id: string;
  customerId: string;
  status: string;
  matched: string | number;
  delivered: string | number;
  failed: string | number;
}

/** What MySQL holds at the end, with ids as strings. */
export interface Tables {
  stored: Stored[];
  deliveries: Delivery[];
  /** Those of the template. */
  webhooks: KeptWebhook[];
}

export interface Kill {
  name: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** Each must be empty at the end of a run. */
export const FINDINGS = [
  'accepted and not stored',
  'stored twice, or never sent in',
  'received for another customer',
  'received and not stored, or not matched',
  'not received',
  'not delivered, or a delivery that should not exist',
  'signature or hash wrong',
  'customers without one webhook',
  'counters that do not agree with the rows',
  'duplicates without a cause',
] as const;
export type Finding = (typeof FINDINGS)[number];

export interface Verdict {
  findings: Record<Finding, string[]>;
  /** Accepted once more than needed, soon before or after a process was killed. */
  duplicates: number;
}

/** A process that was killed may not have recorded what was answered this long before. Milliseconds. */
const UNRECORDED = 15_000;
/** The receiver may read a POST this long after its sender was killed. */
const LATE = 2_000;

/** Reads the tables. */
export async function readTables(sql: Pool, templateId: string): Promise<Tables> {
  const readAll = async <Row>(statement: string, values: unknown[] = []): Promise<Row[]> =>
    (await sql.query<(RowDataPacket & Row)[]>(statement, values))[0];
  return {
    stored: await readAll<Stored>(
      `SELECT CAST(id AS CHAR) AS id, CAST(customer_id AS CHAR) AS customerId, SUBSTRING_INDEX(description, ' ', 1) AS name FROM transactions`,
    ),
    deliveries: await readAll<Delivery>(
      'SELECT CAST(webhook_id AS CHAR) AS webhookId, CAST(transaction_id AS CHAR) AS transactionId, status FROM deliveries',
    ),
    webhooks: await readAll<KeptWebhook>(
      `SELECT CAST(w.id AS CHAR) AS id, CAST(w.customer_id AS CHAR) AS customerId, w.status, b.matched_count AS matched,
         c.delivered_count AS delivered, c.failed_count AS failed
       FROM webhooks w JOIN webhook_backlogs b ON b.webhook_id = w.id JOIN webhook_cursors c ON c.webhook_id = w.id WHERE w.template_id = ?`,
      [templateId],
    ),
  };
}

/** @param expected by name. @param customerIds all of them. */
export function check({
  expected,
  customerIds,
  tables,
  receipts,
  kills,
}: {
  expected: ReadonlyMap<string, Expected>;
  customerIds: readonly string[];
  tables: Tables;
  receipts: readonly Receipt[];
  kills: readonly Kill[];
}): Verdict {
  const findings = Object.fromEntries(FINDINGS.map((name) => [name, []])) as unknown as Verdict['findings'];
  const { stored, deliveries, webhooks } = tables;
  const movementOf = new Map(stored.map((it) => [it.id, it]));
  const copies = countBy(stored, ({ name }) => name);
  for (const [name, { customerId }] of expected)
    if (!copies.has(name)) findings['accepted and not stored'].push(`${name} of customer ${customerId}`);
  for (const { id, name, customerId } of stored)
    if (copies.get(name) !== 1 || expected.get(name)?.customerId !== customerId)
      findings['stored twice, or never sent in'].push(`${name} (${id}) of customer ${customerId}`);

  const webhookOf = new Map(webhooks.map((it) => [it.customerId, it]));
  const perCustomer = countBy(webhooks, ({ customerId }) => customerId);
  for (const id of customerIds)
    if (perCustomer.get(id) !== 1 || webhookOf.get(id)?.status !== 'active')
      findings['customers without one webhook'].push(`customer ${id}: ${perCustomer.get(id) ?? 0}`);

  for (const it of receipts) checkReceipt(it);
  function checkReceipt(it: Receipt): void {
    const movement = movementOf.get(it.transactionId);
    const asked = expected.get(it.name);
    const text = `POST ${it.number} ${it.message} ${it.name} to customer ${it.customerId}`;
    if (it.problem !== '' || it.hash === 'wrong')
      findings['signature or hash wrong'].push(`${text}: ${it.problem} hash ${it.hash}`);
    if (movement === undefined || asked === undefined || !asked.isMatched || movement.name !== it.name)
      findings['received and not stored, or not matched'].push(text);
    const webhookId = webhookOf.get(it.customerId)?.id;
    if (
      (movement !== undefined && movement.customerId !== it.customerId) ||
      (asked !== undefined && (asked.customerId !== it.customerId || asked.externalId !== it.externalId)) ||
      it.message !== `msg_${webhookId}-${it.transactionId}`
    )
      findings['received for another customer'].push(`${text} (${it.externalId})`);
  }

  const accepted = new Map<string, Receipt[]>();
  for (const it of receipts)
    if (it.answeredAt !== null)
      accepted.set(it.transactionId, [...(accepted.get(it.transactionId) ?? []), it]);
  const deliveryOf = new Map(deliveries.map((it) => [it.transactionId, it]));
  const wrongDelivery = (text: string) =>
    findings['not delivered, or a delivery that should not exist'].push(text);
  for (const { id, name, customerId } of stored) {
    const isMatched = expected.get(name)?.isMatched ?? false;
    if (isMatched && !accepted.has(id))
      findings['not received'].push(`${name} (${id}) of customer ${customerId}`);
    const delivery = deliveryOf.get(id);
    const isRight = isMatched
      ? delivery?.status === 'delivered' && delivery.webhookId === webhookOf.get(customerId)?.id
      : delivery === undefined;
    if (!isRight) wrongDelivery(`${name} (${id}): ${delivery?.webhookId} ${delivery?.status}`);
  }
  if (deliveries.length !== deliveryOf.size)
    wrongDelivery(`${deliveries.length} deliveries of ${deliveryOf.size} movements`);
  for (const { transactionId } of deliveries)
    if (!movementOf.has(transactionId)) wrongDelivery(`${transactionId} is not stored`);

  const matched = countBy(
    stored.filter(({ name }) => expected.get(name)?.isMatched),
    ({ customerId }) => customerId,
  );
  for (const it of webhooks) {
    const rows = matched.get(it.customerId) ?? 0;
    if (Number(it.matched) !== rows || Number(it.delivered) !== rows || Number(it.failed) !== 0)
      findings['counters that do not agree with the rows'].push(
        `webhook ${it.id}: ${it.matched} matched, ${it.delivered} delivered, ${it.failed} failed, ${rows} stored`,
      );
  }

  let duplicates = 0;
  for (const [id, [first, ...more]] of accepted) {
    duplicates += more.length;
    let before = first;
    for (const it of more) {
      const answered = before?.answeredAt ?? 0;
      if (!kills.some(({ at }) => at > answered - LATE && at < answered + UNRECORDED))
        findings['duplicates without a cause'].push(`${id} at ${before?.at} and ${it.at}`);
      before = it;
    }
  }
  return { findings, duplicates };
}

function countBy<Item>(items: readonly Item[], key: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const it of items) counts.set(key(it), (counts.get(key(it)) ?? 0) + 1);
  return counts;
}
