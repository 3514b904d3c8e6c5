import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { createWebhookSecret } from '../../../deliveries/posting/signature.ts';
import type { AddressGuard } from '../../../platform/addresses/address-guard.ts';
import { Webhook } from '../../../platform/database/entities/webhook.ts';
import { SEALED } from '../../../platform/database/secret-box.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { insertWebhook } from '../../../webhooks/save-webhook.ts';
import {
  requireAccount,
  requireEndpoint,
  requireOperationalFields,
  sealHeaders,
} from '../../../webhooks/webhook-fields.ts';
import { NewWebhook } from '../../../webhooks/webhook-input.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { readJson } from '../../input.ts';
import { createRoute } from '../../route.ts';

/** POST /v1/webhooks */
export const createWebhookRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      idempotent: true,
      summary: 'Create a webhook',
      description:
        'Every matching movement that is stored from now on is sent to the endpoint as a signed POST, and retried for about three days. With the event OPERATIONAL, the endpoint is sent operational events in place of movements: what fails at your webhooks, imports and sources. Its account must be all, and its encoding json. The secret is shown only in this answer.',
      body: { 'application/json': NewWebhook },
      answer: {
        schema: v.object({ webhook: WebhookView }),
        description: 'The webhook, with its secret.',
        secret: true,
      },
      problems: ['limited-api-key', 'endpoint-refused'],
    },
    async (c) => {
      const { config, database, secrets } = runtime;
      const caller = c.get('caller');
      const { event, account, headers, ...plain } = await readJson(c, NewWebhook);
      const defaultEncoding = event === 'OPERATIONAL' ? 'json' : config.notificationEncoding;
      requireOperationalFields({ event, account, encoding: plain.encoding ?? defaultEncoding });
      const accountId = await requireAccount(database, caller, account);
      const endpoint = await requireEndpoint(guard, plain.endpoint);

      const secret = createWebhookSecret();
      const id = await insertWebhook(database, {
        customerId: caller.customerId,
        event,
        accountId,
        columns: { ...plain, endpoint, encoding: plain.encoding ?? defaultEncoding },
        seal: (webhookId) => ({
          secret: secrets.seal(secret, SEALED.webhookSecret(webhookId)),
          headers: sealHeaders(secrets, webhookId, headers),
        }),
        record: (sql, webhookId) =>
          recordChange(sql, caller, {
            action: 'create',
            subject: `webhook ${webhookId}`,
            detail: `${event} to ${new URL(endpoint).host}`,
          }),
      });
      const webhook = await database.getRepository(Webhook).findOneByOrFail({ id });
      return c.json({ webhook: await viewWebhook(runtime, webhook, secret) });
    },
  );
