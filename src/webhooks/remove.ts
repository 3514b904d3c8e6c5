import * as v from 'valibot';
import { recordChange } from '../http/audit.ts';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhook } from './find.ts';
import { wakeChangedWebhook } from './wake-changed.ts';
import { deleteWebhook } from './writes.ts';

/** DELETE /v1/webhooks/:id */
export const removeWebhook = (runtime: Runtime) =>
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
