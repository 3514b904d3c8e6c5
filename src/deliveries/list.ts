import * as v from 'valibot';
import { createHandlers } from '../http/environment.ts';
import { readId, readQuery } from '../http/input.ts';
import { linkNext } from '../http/next-page.ts';
import { describe } from '../http/openapi.ts';
import { invalid } from '../http/problem.ts';
import { decodeCursor, encodeCursor } from '../listing/cursor.ts';
import type { Runtime } from '../runtime.ts';
import { findWebhook } from '../webhooks/find.ts';
import { readPage } from './page.ts';
import { PER_PAGE } from './scan.ts';
import { DeliveryView, LISTED_STATUSES, viewDelivery } from './view.ts';

const Query = v.strictObject({
  status: v.optional(v.picklist(LISTED_STATUSES, `must be one of ${LISTED_STATUSES.join(', ')}`)),
  cursor: v.optional(v.string()),
});

/** GET /v1/webhooks/:id/deliveries */
export const listDeliveries = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Deliveries',
      summary: 'List the deliveries of a webhook',
      description: `Newest movement first, ${PER_PAGE} a page. The header Link, rel="next", leads to older ones. Where few of very many match, a page may hold fewer, or none, and still have a next one.`,
      query: {
        status: { description: `One of ${LISTED_STATUSES.join(', ')}. Default: all.`, example: 'failed' },
        cursor: { description: 'From a Link header.' },
      },
      answer: { schema: v.object({ deliveries: v.array(DeliveryView) }), description: 'One page.' },
      problems: ['not-found', 'invalid'],
    }),
    async (c) => {
      const caller = c.get('caller');
      const webhook = await findWebhook(database, caller, readId(c, 'webhook'));
      const { status = null, cursor } = readQuery(c, Query);
      const before = cursor === undefined ? null : decodeCursor(cursor, 'm2');
      if (cursor !== undefined && before === null) {
        throw invalid([{ path: 'cursor', message: 'must be taken from a Link header as it is' }]);
      }
      const page = await readPage(database, caller, { webhookId: webhook.id, status, before });
      if (page.next !== null) linkNext(c, encodeCursor(page.next, 'm2'));
      return c.json({ deliveries: page.rows.map((row) => viewDelivery(row)) });
    },
  );
