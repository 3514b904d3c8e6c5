import type { DataSource } from 'typeorm';
import { actFor, type Caller, type Operator } from '../customers/caller.ts';
import { requireOperatorCustomer } from '../customers/operator-customer.ts';
import { isDuplicate } from '../database/errors.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { invalid, notFound, Problem } from '../platform/problem.ts';
import { settingsOf, type WebhookSettings } from '../webhook-record/record.ts';
import { keepTemplates, lockTemplates } from './template-webhooks.ts';
import {
  givenEvents,
  type NewTemplate,
  type TemplateChange,
  type TemplateCustomers,
} from './webhook-input.ts';
import { changeWebhook, deleteWebhook, prepareWebhook } from './webhooks.ts';

/** Creates, changes and deletes templates: each stands for one webhook per customer, and is a webhook of the operator's customer. */

/** Each new customer gets a webhook of each. */
export const MOST_TEMPLATES = 20;

/** How long a request waits for the webhooks of the first customers. The regular check makes the others. Milliseconds. */
const FIRST_WEBHOOKS = 1_000;

/** Index: webhooks_templates. */
const COUNT_TEMPLATES =
  "SELECT COUNT(*) AS number FROM webhooks WHERE is_template = 1 AND status <> 'deleted'";

const ADD_TEMPLATE = 'INSERT INTO webhook_templates (webhook_id, metadata) VALUES (?, ?)';

/** All customers are looked at again. */
const CHANGE_CUSTOMERS =
  'UPDATE webhook_templates SET metadata = ?, checked_through = 0 WHERE webhook_id = ?';
const LOOK_AGAIN = 'UPDATE webhook_templates SET checked_through = 0 WHERE webhook_id = ?';
const END_REPLAY = 'UPDATE webhook_templates SET replay_through = NULL WHERE webhook_id = ?';

/** Webhooks of the template that the service has paused are sent again. Indexes: webhooks_template_status, and the primary keys. */
const RESUME_WEBHOOKS = `
  UPDATE webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
  SET w.status = 'active', w.status_reason = NULL, w.revision = w.revision + 1, c.crash_count = 0, b.due_at = NOW(6)
  WHERE w.template_id = ? AND w.status = 'paused'`;

/** NULL: all customers. */
const storedCustomers = (customers: TemplateCustomers): string | null =>
  customers === 'all' ? null : JSON.stringify(customers.metadata);

/**
 * Creates a template. Its webhooks exist for the first customers when this resolves. The regular check makes the others.
 * @returns its id and its secret; undefined: its events are pulled.
 * @throws {Problem} 422 or 403 as `createWebhook`; 409 when there are as many templates as allowed.
 */
export async function createTemplate(
  runtime: Runtime,
  guard: AddressGuard,
  operator: Operator,
  { customers, ...body }: NewTemplate,
): Promise<{ id: string; secret: string | undefined }> {
  const { database, secrets } = runtime;
  requireOfCustomers(body);
  const { secret, add } = await prepareWebhook(
    runtime,
    guard,
    { ...body, account: 'all' },
    { isTemplate: true },
  );
  const create = () =>
    inTransaction(database, async (sql) => {
      await lockTemplates(sql);
      const [count] = await sql.query<{ number: string | number }[]>(COUNT_TEMPLATES);
      if (Number(count?.number) >= MOST_TEMPLATES)
        throw new Problem(
          'template-limit-reached',
          `There are ${MOST_TEMPLATES} webhook templates, which is the limit. Delete one that you no longer need.`,
        );
      const customerId = await requireOperatorCustomer(sql, secrets, operator);
      const id = await add(sql, actFor(customerId, operator), null);
      await sql.query(ADD_TEMPLATE, [id, storedCustomers(customers)]);
      return id;
    });
  // Another process may have added the operator's customer at the same moment.
  const id = await create().catch((error: unknown) => {
    if (isDuplicate(error)) return create();
    throw error;
  });
  await makeFirstWebhooks(database);
  return { id, secret };
}

/**
 * Changes a template. A new endpoint, setting or status applies to all webhooks of the template immediately. New events and new customers apply
 * to each webhook when the regular check has reached it.
 * @throws {Problem} 404; 422 or 403 as `changeWebhook`.
 */
export async function changeTemplate(
  runtime: Runtime,
  guard: AddressGuard,
  operator: Operator,
  before: WebhookSettings,
  { customers, ...change }: TemplateChange,
): Promise<void> {
  requireOfCustomers(change);
  const { id } = before;
  const given = givenEvents(change);
  const isRematched = customers !== undefined || given !== undefined;
  await changeWebhook(runtime, guard, ownerOf(before, operator), before, change, async (sql) => {
    if (isRematched) await lockTemplates(sql);
    if (customers !== undefined) await sql.query(CHANGE_CUSTOMERS, [storedCustomers(customers), id]);
    else if (given !== undefined) await sql.query(LOOK_AGAIN, [id]);
    if (change.status === 'active') await sql.query(RESUME_WEBHOOKS, [id]);
  });
  if (isRematched) await makeFirstWebhooks(runtime.database);
}

/** Deletes a template with its webhooks. Nothing of them is sent any more. @throws {Problem} 404. */
export async function deleteTemplate(
  runtime: Runtime,
  operator: Operator,
  template: WebhookSettings,
): Promise<void> {
  await deleteWebhook(runtime, ownerOf(template, operator), template, async (sql) => {
    await lockTemplates(sql);
    await sql.query(LOOK_AGAIN, [template.id]);
    await sql.query(END_REPLAY, [template.id]);
  });
}

/** The operator as caller for the customer that has the template. */
export const ownerOf = ({ customer_id }: WebhookSettings, operator: Operator): Caller =>
  actFor(customer_id, operator);

/** The regular check goes on, also if this fails. */
async function makeFirstWebhooks(database: DataSource): Promise<void> {
  await keepTemplates(database, AbortSignal.timeout(FIRST_WEBHOOKS)).catch(() => {});
}

/** @throws {Problem} 422: the operator's own webhook is sent the operational events of all customers. */
function requireOfCustomers(body: Parameters<typeof givenEvents>[0]): void {
  if (givenEvents(body)?.event === 'OPERATIONAL')
    throw invalid([
      {
        path: body.events === undefined ? 'event' : 'events',
        message: 'must not be OPERATIONAL: OPS_WEBHOOK_URL is sent the operational events of all customers',
      },
    ]);
}

/** Index: webhooks_templates. */
const FIND_TEMPLATES = `
  SELECT w.id FROM webhooks w FORCE INDEX (webhooks_templates)
  WHERE w.is_template = 1 AND w.status <> 'deleted' AND w.id > ? ORDER BY w.id LIMIT ?`;

/** Finds templates, the oldest first. */
export const findTemplates = (
  sql: Sql,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string }[]> => sql.query<{ id: string }[]>(FIND_TEMPLATES, [after, limit]);

/** Index: the primary key. @throws {Problem} 404. */
export async function findTemplate(sql: Sql, id: string): Promise<WebhookSettings> {
  const [template] = await sql.query<WebhookSettings[]>(
    `SELECT ${settingsOf('w', 'w')} FROM webhooks w WHERE w.id = ? AND w.is_template = 1 AND w.status <> 'deleted'`,
    [id],
  );
  if (template === undefined) throw notFound('webhook template');
  return template;
}
