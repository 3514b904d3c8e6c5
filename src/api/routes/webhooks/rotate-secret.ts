import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { createWebhookSecret } from '../../../deliveries/posting/signature.ts';
import { Webhook } from '../../../platform/database/entities/webhook.ts';
import { SEALED } from '../../../platform/database/secret-box.ts';
import { inTransaction } from '../../../platform/database/transaction.ts';
import { notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { replaceSecret, wakeChangedWebhook } from '../../../webhooks/save-webhook.ts';
import { viewWebhook, WebhookView } from '../../../webhooks/webhook-view.ts';
import { readId } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../../route.ts';

/** POST /v1/webhooks/:id/rotate-secret */
export const rotateWebhookSecretRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      idempotent: true,
      summary: "Replace a webhook's secret",
      description:
        'For 24 hours, notifications have two signatures: one with the new secret and one with the previous one. If you replace the secret again within that time, the last two secrets sign.',
      path: { id: idParameter('webhook') },
      answer: {
        schema: v.object({ webhook: WebhookView }),
        description: 'The webhook, with its new secret, which is shown in this answer only.',
        secret: true,
      },
    },
    async (c) => {
      const { database, secrets } = runtime;
      const caller = c.get('caller');
      const { id } = await findWebhook(database, caller, readId(c, 'webhook'));
      const secret = createWebhookSecret();
      const sealed = secrets.seal(secret, SEALED.webhookSecret(id));
      await inTransaction(database, async (sql) => {
        if (!(await replaceSecret(sql, id, sealed))) throw notFound('webhook');
        await recordChange(sql, caller, { action: 'rotate secret', subject: `webhook ${id}` });
      });
      // Makes an active delivery run sign with the new secret.
      await wakeChangedWebhook(runtime, id);
      const webhook = await database.getRepository(Webhook).findOneByOrFail({ id });
      return c.json({ webhook: await viewWebhook(runtime, webhook, secret) });
    },
  );
