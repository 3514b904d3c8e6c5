import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { Webhook } from '../../database/entities/webhook.ts';
import type { SecretBox } from '../../database/secret-box.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import type { AddressGuard } from '../../delivering/address-guard.ts';
import { forgetFailures } from '../../delivering/resume.ts';
import { type Caller, createHandlers } from '../../http/environment.ts';
import { notFound, Problem } from '../../http/problem.ts';
import type { Runtime } from '../../runtime.ts';
import { readId, readJson } from '../input.ts';
import { describe } from '../openapi.ts';
import { findWebhook } from './find.ts';
import { WebhookChange } from './input.ts';
import { requireAccount, requireEndpoint, sealHeaders } from './settings.ts';
import { viewWebhook, WebhookView } from './view.ts';
import { wakeWebhook } from './wake.ts';

/** A running pump reads the settings again when it sees another revision. */
const CHANGE = (columns: readonly string[]) => `
  UPDATE webhooks SET ${columns.map((column) => `${column} = ?`).join(', ')}, revision = revision + 1
  WHERE id = ? AND status <> 'deleted'`;

/** Index: deliveries_due. */
const OWES_OTHER_ACCOUNTS = `
  SELECT d.id FROM deliveries d JOIN transactions t ON t.id = d.transaction_id
  WHERE d.webhook_id = ? AND d.status = 'pending' AND t.account_id NOT IN (?) LIMIT 1`;

/** PATCH /v1/webhooks/:id */
export const changeWebhook = (runtime: Runtime, guard: AddressGuard) =>
  createHandlers(
    describe({
      tag: 'Webhooks',
      summary: 'Change a webhook, pause it, or have it go on',
      description:
        'Any field of its creation, and status: paused keeps what is owed until it is active again; active also brings back a webhook that was disabled, and forgets its failures. What was owed before a change is sent with the new settings; event and account decide about movements stored from then on.',
      body: { 'application/json': WebhookChange },
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, without its secret.' },
      problems: ['malformed', 'forbidden', 'not-found', 'too-large', 'unsupported-media-type', 'invalid'],
    }),
    async (c) => {
      const { database, secrets } = runtime;
      const caller = c.get('caller');
      const { id } = await findWebhook(database, caller, readId(c, 'webhook'));
      const change = await readJson(c, WebhookChange);
      const columns = await toColumns(change, { database, secrets, guard, caller });
      const redirects = change.endpoint !== undefined || change.headers !== undefined;
      await inTransaction(database, async (sql) => {
        const { affectedRows } = await sql.query<WriteResult>(CHANGE(Object.keys(columns)), [
          ...Object.values(columns),
          id,
        ]);
        if (affectedRows === 0) throw notFound('webhook');
        if (redirects) await refuseForeignBacklog(sql, caller, id);
        if (change.status === 'active') await forgetFailures(sql, id);
      });
      if (change.status === 'active') await wakeWebhook(runtime, id);
      return c.json({
        webhook: viewWebhook(await database.getRepository(Webhook).findOneByOrFail({ id })),
      });
    },
  );

/**
 * The columns of `webhooks` that a change sets; the schema knows no other names.
 * @throws {Problem} 422 or 403 for an endpoint or account that may not be.
 */
async function toColumns(
  change: WebhookChange,
  context: { database: DataSource; secrets: SecretBox; guard: AddressGuard; caller: Caller },
): Promise<Record<string, unknown>> {
  const { account, endpoint, headers, status, ...plain } = change;
  const { database, secrets, guard, caller } = context;
  return {
    ...plain,
    ...(account === undefined ? {} : { account_id: await requireAccount(database, caller, account) }),
    ...(endpoint === undefined ? {} : { endpoint: await requireEndpoint(guard, endpoint) }),
    ...(headers === undefined ? {} : { headers: sealHeaders(secrets, headers) }),
    ...(status === undefined ? {} : { status, status_reason: null }),
  };
}

/**
 * A webhook may have been for other accounts before, and still owe their movements. A key limited to accounts must not lead
 * these to an endpoint of its choice.
 */
async function refuseForeignBacklog(sql: Sql, { accountIds }: Caller, webhookId: string): Promise<void> {
  if (accountIds === 'all') return;
  const [foreign] = await sql.query<{ id: string }[]>(OWES_OTHER_ACCOUNTS, [webhookId, accountIds]);
  if (foreign !== undefined) {
    throw new Problem(
      'forbidden',
      'This webhook still owes movements of accounts that this API key may not see: wait until they are delivered, or use a key that sees all.',
    );
  }
}
