import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import type { Caller } from '../../../customers/caller.ts';
import type { AddressGuard } from '../../../platform/addresses/address-guard.ts';
import { Webhook } from '../../../platform/database/entities/webhook.ts';
import type { SecretBox } from '../../../platform/database/secret-box.ts';
import type { Sql } from '../../../platform/database/transaction.ts';
import { invalid, notFound, Problem } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findWebhook, mayHavePendingOfOtherAccounts } from '../../../webhooks/find-webhook.ts';
import { updateWebhook, wakeChangedWebhook } from '../../../webhooks/save-webhook.ts';
import {
  requireAccount,
  requireEndpoint,
  requireOperationalFields,
  sealHeaders,
} from '../../../webhooks/webhook-fields.ts';
import { WebhookChange } from '../../../webhooks/webhook-input.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { readId, readJson } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../../route.ts';

/** PATCH /v1/webhooks/:id */
export const changeWebhookRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      summary: 'Change a webhook, pause it, or activate it',
      description:
        'Changes any field of the webhook, or its status. A paused webhook keeps matching movements, which are pending until it is active again. Set status to active to enable a disabled webhook. A status of active, a new endpoint and new headers also reset the health of the endpoint. Pending deliveries are sent with the new settings. A new event or account applies to movements that are stored from now on. The event cannot be changed to or from OPERATIONAL.',
      body: { 'application/json': WebhookChange },
      path: { id: idParameter('webhook') },
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, without its secret.' },
      problems: ['limited-api-key', 'pending-for-other-accounts', 'endpoint-refused'],
    },
    async (c) => {
      const { database, secrets } = runtime;
      const caller = c.get('caller');
      const before = await findWebhook(database, caller, readId(c, 'webhook'));
      const { id } = before;
      const change = await readJson(c, WebhookChange);
      requireSameKind(before, change);
      const columns = await toColumns(change, { id, database, secrets, guard, caller });
      const redirects = change.endpoint !== undefined || change.headers !== undefined;
      const changed = await updateWebhook(
        database,
        { id, customerId: caller.customerId, columns },
        async (sql) => {
          if (redirects) await refuseForeignBacklog(sql, caller, id);
          await recordChange(sql, caller, {
            action: 'change',
            subject: `webhook ${id}`,
            detail: describeChange(change),
          });
        },
      );
      if (!changed) throw notFound('webhook');
      // An active run reads the webhook again.
      await wakeChangedWebhook(runtime, id);
      const webhook = await database.getRepository(Webhook).findOneByOrFail({ id });
      return c.json({ webhook: await viewWebhook(runtime, webhook) });
    },
  );

/**
 * A webhook is sent either movements or operational events for as long as it exists: its log has only one kind of ids.
 * @throws {Problem} 422.
 */
function requireSameKind(before: Webhook, change: WebhookChange): void {
  const event = change.event ?? before.event;
  if ((event === 'OPERATIONAL') !== (before.event === 'OPERATIONAL'))
    throw invalid([
      { path: 'event', message: 'cannot be changed to or from OPERATIONAL: create another webhook' },
    ]);
  requireOperationalFields({
    event,
    account: change.account ?? (before.accountId === null ? 'all' : before.accountId),
    encoding: change.encoding ?? before.encoding,
  });
}

/**
 * The columns of `webhooks` that a change sets. The schema allows no other names.
 * @throws {Problem} 422 or 403 for an endpoint or account that is not allowed.
 */
async function toColumns(
  change: WebhookChange,
  context: { id: string; database: DataSource; secrets: SecretBox; guard: AddressGuard; caller: Caller },
): Promise<Record<string, unknown>> {
  const { account, endpoint, headers, status, ...plain } = change;
  const { id, database, secrets, guard, caller } = context;
  return {
    ...plain,
    ...(account === undefined ? {} : { account_id: await requireAccount(database, caller, account) }),
    ...(endpoint === undefined ? {} : { endpoint: await requireEndpoint(guard, endpoint) }),
    ...(headers === undefined ? {} : { headers: sealHeaders(secrets, id, headers) }),
    ...(status === undefined ? {} : { status, status_reason: null }),
  };
}

/** The names of the changed fields. Values may be secrets, such as those of headers; a status is none. */
const describeChange = ({ status, ...others }: WebhookChange): string =>
  [...(status === undefined ? [] : [`status: ${status}`]), ...Object.keys(others)].join(', ');

/**
 * A webhook may have matched other accounts before, and still have their movements pending. A key that is limited to accounts must
 * not redirect these to an endpoint of its choice.
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
