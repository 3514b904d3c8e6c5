import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { hasAccount } from '../customers/accounts.ts';
import { recordChange } from '../customers/audit.ts';
import { type Caller, isOperator } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import { cutTo } from '../database/text-columns.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { isOfEvents } from '../database/webhook-enums.ts';
import { wakeDue } from '../delivery/reconcile.ts';
import { wakeChangedWebhook, wakeTemplate } from '../delivery/wake.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { invalid, notFound, Problem } from '../platform/problem.ts';
import { eventsOf } from '../webhook-record/events.ts';
import type { WebhookSettings } from '../webhook-record/record.ts';
import { mayHavePendingOfOtherAccounts } from './find-webhook.ts';
import {
  addWebhook,
  changeColumns,
  markDeleted,
  replaceSecret,
  type StoredWebhook,
} from './settings/save-webhook.ts';
import { givenEvents, type NewWebhook, type WebhookChange } from './webhook-input.ts';

/** Creates, changes and deletes webhooks for a caller, and rotates their secrets. */

/**
 * Creates a webhook.
 * @returns its id and its secret. A feed signs nothing, so it has none.
 * @throws {Problem} 422 or 403 for an endpoint, an account or a combination that is not allowed; 409 when the customer has reached its
 * limit of webhooks.
 */
export async function createWebhook(
  runtime: Runtime,
  guard: AddressGuard,
  caller: Caller,
  body: NewWebhook,
): Promise<{ id: string; secret: string | undefined }> {
  const accountId = await requireAccount(runtime.database, caller, body.account);
  const { secret, add } = await prepareWebhook(runtime, guard, body);
  const id = await inTransaction(runtime.database, (sql) => add(sql, caller, accountId));
  return { id, secret };
}

/**
 * Checks a new webhook, apart from its account, and resolves its endpoint's address.
 * @returns its secret, and the function that stores it in a transaction and returns its id.
 * @throws {Problem} 422 or 403 as `createWebhook`.
 */
export async function prepareWebhook(
  { config, secrets }: Pick<Runtime, 'config' | 'secrets'>,
  guard: AddressGuard,
  { event: single, events: list, account, headers, batch, ...plain }: NewWebhook,
  { isTemplate = false } = {},
): Promise<{
  secret: string | undefined;
  add: (sql: Sql, caller: Caller, accountId: string | null) => Promise<string>;
}> {
  const given = givenEvents({ event: single, events: list });
  if (given === undefined) throw invalid([{ path: 'event', message: 'is required, unless events is given' }]);
  const { event, withdrawals } = given;
  const isPull = plain.delivery === 'pull';
  const { encoding = isOfEvents(event) || isPull ? 'json' : config.notificationEncoding } = plain;
  requireFitting({ event, account, encoding, body: plain.body, isBatch: batch !== null });
  if (isPull) requirePullable({ ...plain, event, encoding, headers, batch });
  const endpoint = isPull ? null : await requireEndpoint(guard, plain.endpoint);
  const secret = isPull ? undefined : createWebhookSecret();
  const add = (sql: Sql, caller: Caller, accountId: string | null) =>
    addWebhook(sql, {
      customerId: caller.customerId,
      event,
      withdrawals,
      accountId,
      columns: { ...plain, ...batchColumns(batch), endpoint, encoding },
      isTemplate,
      ...(isTemplate ? {} : { most: config.webhooksPerCustomer }),
      seal: (own) => ({
        secret: secret === undefined ? null : secrets.seal(secret, SEALED.webhookSecret(own)),
        headers: sealHeaders(secrets, own, headers),
      }),
      record: (own, added) =>
        recordChange(own, caller, {
          action: 'create',
          subject: nameOf({ id: added, is_template: isTemplate ? 1 : 0 }),
          detail: `${eventsOf(given).join(' and ')} ${endpoint === null ? 'to be pulled' : `to ${new URL(endpoint).host}`}`,
        }),
    });
  return { secret, add };
}

/** A webhook or a template, as the audit log names it. */
const nameOf = ({ id, is_template }: Pick<WebhookSettings, 'id' | 'is_template'>): string =>
  `${is_template === 1 ? 'template' : 'webhook'} ${id}`;

/** Wakes what sends with the settings of a webhook or a template that has changed. */
async function wakeChanged(
  runtime: Runtime,
  { id, is_template }: Pick<WebhookSettings, 'id' | 'is_template'>,
): Promise<void> {
  if (is_template === 0) return wakeChangedWebhook(runtime, id);
  await wakeTemplate(runtime, id);
  wakeDue(runtime);
}

/** Runs before a change, in its transaction. */
type First = (sql: Sql) => Promise<void>;
const NOTHING_FIRST: First = async () => {};

/**
 * Changes a webhook or a template and wakes it, so that active runs end and the settings are read again.
 * @param before the webhook, as it was found for the caller.
 * @throws {Problem} 404 when it has been deleted since; 422 or 403 for a change that is not allowed.
 */
export async function changeWebhook(
  runtime: Runtime,
  guard: AddressGuard,
  caller: Caller,
  before: WebhookSettings,
  change: WebhookChange,
  first = NOTHING_FIRST,
): Promise<void> {
  const { database, secrets } = runtime;
  const { customerId } = caller;
  const { id } = before;
  requireSameKind(before, change);
  const columns = await toColumns(change, { id, database, secrets, guard, caller });
  const redirects = change.endpoint !== undefined || change.headers !== undefined;
  const isChanged = await inTransaction(database, async (sql) => {
    await first(sql);
    return changeColumns(sql, { id, customerId, columns }, async (own, stored) => {
      requireHeaders(stored, columns);
      if (redirects && !isOfEvents(before.event)) await refuseForeignBacklog(own, caller, id);
      await recordChange(own, caller, {
        action: 'change',
        subject: nameOf(before),
        detail: describeChange(change),
      });
    });
  });
  if (!isChanged) throw notFound('webhook');
  await wakeChanged(runtime, before);
}

/** Deletes a webhook or a template, and wakes it, so that active runs end. @throws {Problem} 404. */
export async function deleteWebhook(
  runtime: Runtime,
  caller: Caller,
  webhook: WebhookSettings,
  first = NOTHING_FIRST,
): Promise<void> {
  const { id } = webhook;
  const isDeleted = await inTransaction(runtime.database, async (sql) => {
    await first(sql);
    return markDeleted(sql, { id, customerId: caller.customerId }, (own) =>
      recordChange(own, caller, { action: 'delete', subject: nameOf(webhook) }),
    );
  });
  if (!isDeleted) throw notFound('webhook');
  await wakeChanged(runtime, webhook);
}

/**
 * Replaces a webhook's secret, and wakes the webhook, so that an active run signs with the new one.
 * @returns the new secret.
 * @throws {Problem} 404; 409 for a feed, which has no secret.
 */
export async function rotateWebhookSecret(
  runtime: Runtime,
  caller: Caller,
  webhook: WebhookSettings,
): Promise<string> {
  const { database, secrets } = runtime;
  const { id, delivery } = webhook;
  if (delivery === 'pull') {
    throw new Problem(
      'pulled-webhook',
      `Webhook ${id} has the delivery "pull". Its feed is not signed, so it has no secret to replace. Only a webhook with the delivery "push" has one.`,
    );
  }
  const secret = createWebhookSecret();
  const sealed = secrets.seal(secret, SEALED.webhookSecret(id));
  await inTransaction(database, async (sql) => {
    if (!(await replaceSecret(sql, id, sealed))) throw notFound('webhook');
    await recordChange(sql, caller, { action: 'rotate secret', subject: nameOf(webhook) });
  });
  await wakeChanged(runtime, webhook);
  return secret;
}

/**
 * A webhook is sent either movements, operational events or balances for as long as it exists, because its log has only one kind of ids.
 * @throws {Problem} 422.
 */
function requireSameKind(before: WebhookSettings, change: WebhookChange): void {
  const { event } = givenEvents(change) ?? before;
  const kind = [event, before.event].find(isOfEvents);
  if (event !== before.event && kind !== undefined)
    throw invalid([
      {
        path: change.events === undefined ? 'event' : 'events',
        message: `cannot be changed to or from ${kind}: create another webhook`,
      },
    ]);
  if (change.delivery !== undefined && change.delivery !== before.delivery)
    throw invalid([{ path: 'delivery', message: 'cannot be changed: create another webhook' }]);
  const own = before.account_id ?? 'all';
  // After a change of account, a key limited to the new account could see, and send elsewhere, earlier balances of other accounts.
  if (event === 'BALANCE_UPDATED' && (change.account ?? own) !== own)
    throw invalid([
      {
        path: 'account',
        message: 'cannot be changed if the event is BALANCE_UPDATED: create another webhook',
      },
    ]);
  const { account = own, encoding = before.encoding, body = before.body } = change;
  const isBatch = change.batch === undefined ? before.batch_max !== null : change.batch !== null;
  requireFitting({ event, account, encoding, body, isBatch });
  if (before.delivery === 'pull') requirePullable({ ...change, event, encoding });
}

/**
 * The columns of `webhooks` that a change sets. The schema allows no other names.
 * @throws {Problem} 422 or 403 for an endpoint or account that is not allowed.
 */
async function toColumns(
  change: WebhookChange,
  context: { id: string; database: DataSource; secrets: SecretBox; guard: AddressGuard; caller: Caller },
): Promise<Record<string, unknown>> {
  const { event, events, account, endpoint, headers, status, batch, ...plain } = change;
  const { id, database, secrets, guard, caller } = context;
  return {
    ...plain,
    ...givenEvents({ event, events }),
    ...(batch === undefined ? {} : batchColumns(batch)),
    ...(account === undefined ? {} : { account_id: await requireAccount(database, caller, account) }),
    ...(endpoint === undefined ? {} : { endpoint: await requireEndpoint(guard, endpoint) }),
    ...(headers === undefined ? {} : { headers: sealHeaders(secrets, id, headers) }),
    ...(status === undefined
      ? {}
      : { status, status_reason: null, paused_by: status === 'paused' ? pauserOf(caller) : null }),
  };
}

/** The operator who pauses a webhook, and where, as "admin (console)". null: its owner. */
const pauserOf = ({ actor }: Caller): string | null =>
  isOperator(actor) ? cutTo('webhooks.paused_by', `${actor.name} (${actor.source})`) : null;

/** The columns of `webhooks` for how events are put together. */
const batchColumns = (batch: WebhookChange['batch'] | null) => ({
  batch_max: batch?.max ?? null,
  batch_wait_ms: batch?.wait_ms ?? 0,
});

/**
 * Custom headers are often credentials. Headers that were given for one endpoint must not be sent to another.
 * @throws {Problem} 422.
 */
function requireHeaders({ endpoint, headers }: StoredWebhook, columns: Record<string, unknown>): void {
  const isElsewhere = columns.endpoint !== undefined && columns.endpoint !== endpoint;
  if (isElsewhere && headers !== null && columns.headers === undefined)
    throw invalid([
      {
        path: 'headers',
        message:
          'must be sent again with a new endpoint, or {} for none: the stored ones were given for another endpoint',
      },
    ]);
}

/** The names of the changed fields. Only the status is shown with its value, because other values, such as headers, may be secrets. */
const describeChange = ({ status, ...others }: WebhookChange): string =>
  [...(status === undefined ? [] : [`status: ${status}`]), ...Object.keys(others)].join(', ');

/**
 * A webhook may have matched other accounts before, and their movements may still be pending. A key that is limited to accounts must
 * not redirect these movements to another endpoint.
 * @throws {Problem} 403.
 */
async function refuseForeignBacklog(sql: Sql, { accountIds }: Caller, webhookId: string): Promise<void> {
  if (accountIds !== 'all' && (await mayHavePendingOfOtherAccounts(sql, webhookId, accountIds))) {
    throw new Problem(
      'pending-for-other-accounts',
      'This webhook may still have pending deliveries of accounts that this API key cannot see. Wait until they are delivered, or use a key for all accounts.',
    );
  }
}

/**
 * Checks an endpoint.
 * @returns the endpoint as it is stored.
 * @throws {Problem} 422 when it is missing, or the guard refuses it.
 */
async function requireEndpoint(guard: AddressGuard, endpoint: string | undefined): Promise<string> {
  if (endpoint === undefined) throw invalid([{ path: 'endpoint', message: 'is required' }]);
  const url = new URL(endpoint);
  const refusal = await guard.checkEndpoint(url);
  if (refusal !== null) {
    const message = `is not allowed: ${refusal.replace(/\.$/, '')}`;
    throw new Problem('endpoint-refused', `endpoint ${message}.`, {
      errors: [{ path: 'endpoint', message }],
    });
  }
  return url.href;
}

/**
 * Checks fields that depend on each other. A form cannot hold the nested members of events or of an extended body. Operational events
 * concern no account.
 * @throws {Problem} 422.
 */
function requireFitting({
  event,
  account,
  encoding,
  body,
  isBatch,
}: Pick<WebhookSettings, 'event' | 'encoding' | 'body'> & { account: string; isBatch: boolean }): void {
  const refuse = (path: string, message: string) => invalid([{ path, message }]);
  if (event === 'OPERATIONAL' && account !== 'all')
    throw refuse('account', 'must be "all" if the event is OPERATIONAL');
  if (isOfEvents(event) && encoding !== 'json')
    throw refuse('encoding', `must be "json" if the event is ${event}`);
  if (isBatch && encoding === 'form')
    throw refuse('batch', 'must be null if the encoding is "form": a form has no objects');
  if (body !== 'extended') return;
  if (encoding === 'form')
    throw refuse('body', 'must be "standard" if the encoding is "form": a form has no objects');
  if (isOfEvents(event)) throw refuse('body', `must be "standard" if the event is ${event}`);
}

/**
 * Checks the settings of a webhook whose events are pulled. A setting that only a POST has would have no effect.
 * @throws {Problem} 422 that lists each of them.
 */
function requirePullable(
  webhook: Partial<{
    endpoint: string | undefined;
    ordered: boolean | undefined;
    rate_limit: number | null | undefined;
    batch: WebhookChange['batch'];
    headers: Record<string, string> | undefined;
  }> &
    Pick<WebhookSettings, 'event' | 'encoding'>,
): void {
  const {
    endpoint,
    event,
    encoding,
    ordered = false,
    rate_limit = null,
    batch = null,
    headers = {},
  } = webhook;
  const pulled = 'if the delivery is pull';
  const refused: [isRefused: boolean, path: string, message: string][] = [
    [endpoint != null, 'endpoint', `must be left out ${pulled}`],
    [isOfEvents(event), 'event', `must not be ${event} ${pulled}`],
    [encoding !== 'json', 'encoding', `must be "json" ${pulled}`],
    [ordered, 'ordered', `must be left out ${pulled}: a feed is always in order`],
    [rate_limit !== null, 'rate_limit', `must be left out ${pulled}: the reader decides how fast it reads`],
    [batch !== null, 'batch', `must be left out ${pulled}: limit says how many events an answer has`],
    [Object.keys(headers).length > 0, 'headers', `must be left out ${pulled}`],
  ];
  const [first, ...others] = refused.flatMap(([isRefused, path, message]) =>
    isRefused ? [{ path, message }] : [],
  );
  if (first !== undefined) throw invalid([first, ...others]);
}

/** A webhook's custom headers as they are stored; null: none. */
function sealHeaders(secrets: SecretBox, webhookId: string, headers: Record<string, string>): string | null {
  return Object.keys(headers).length > 0
    ? secrets.seal(JSON.stringify(headers), SEALED.webhookHeaders(webhookId))
    : null;
}

/**
 * Checks the account of a webhook.
 * @returns the account's id; null: all. Another customer's account counts as unknown.
 * @throws {Problem} 422, or 403 when a limited key asks for all.
 */
async function requireAccount(database: DataSource, caller: Caller, account: string): Promise<string | null> {
  if (account === 'all') {
    if (caller.accountIds !== 'all') {
      throw new Problem(
        'limited-api-key',
        'This API key is limited to some accounts, so its webhooks cannot be for "all". Name one of its accounts.',
      );
    }
    return null;
  }
  if (!(await hasAccount(database, caller, account)))
    throw invalid([{ path: 'account', message: 'must be "all", or the id of one of your accounts' }]);
  return account;
}

/** Bytes in a new secret. Standard Webhooks allows 24 to 64. */
const SECRET_BYTES = 32;

/** Creates a secret: `whsec_` and the base64 of 32 random bytes. */
export function createWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
