import * as v from 'valibot';
import { Webhook } from '../../database/entities/webhook.ts';
import { cancelPending } from '../../delivering/cancel.ts';
import { createHandlers } from '../../http/environment.ts';
import type { Runtime } from '../../runtime.ts';
import { readId } from '../input.ts';
import { describe } from '../openapi.ts';
import { findWebhook } from './find.ts';

/** DELETE /v1/webhooks/:id */
export const removeWebhook = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Webhooks',
      summary: 'Delete a webhook',
      description: 'What it was still owed is cancelled. Its log stays until retention.',
      answer: { schema: v.object({ status: v.literal('success') }), description: 'It is deleted.' },
      problems: ['not-found'],
    }),
    async (c) => {
      const { id } = await findWebhook(database, c.get('caller'), readId(c, 'webhook'));
      // First the status, so that nothing more is sent or owed; the reconciler completes a cancelling that is cut short.
      await database
        .getRepository(Webhook)
        .update({ id }, { status: 'deleted', revision: () => 'revision + 1' });
      await cancelPending(database, id);
      return c.json({ status: 'success' });
    },
  );
