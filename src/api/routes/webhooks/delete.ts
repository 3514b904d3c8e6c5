import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { deleteWebhook, wakeChangedWebhook } from '../../../webhooks/save-webhook.ts';
import { readId } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../../route.ts';

/** DELETE /v1/webhooks/:id */
export const deleteWebhookRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Webhooks',
      scope: 'webhooks',
      summary: 'Delete a webhook',
      description:
        'Nothing more is sent to the webhook, and its pending deliveries become cancelled. The log of its deliveries is kept as long as that of other webhooks.',
      path: { id: idParameter('webhook') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'The webhook is deleted.' },
    },
    async (c) => {
      const { database } = runtime;
      const caller = c.get('caller');
      const { customerId } = caller;
      const { id } = await findWebhook(database, caller, readId(c, 'webhook'));
      const deleted = await deleteWebhook(database, { id, customerId }, (sql) =>
        recordChange(sql, caller, { action: 'delete', subject: `webhook ${id}` }),
      );
      if (!deleted) throw notFound('webhook');
      await wakeChangedWebhook(runtime, id);
      return c.json({ status: 'success' });
    },
  );
