import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import { type Caller, createHandlers } from '../../http/environment.ts';
import { invalid } from '../../http/problem.ts';
import { type CursorKind, decodeCursor, encodeCursor } from '../../listing/cursor.ts';
import type { Runtime } from '../../runtime.ts';
import { readId, readQuery } from '../input.ts';
import { linkNext } from '../next-page.ts';
import { describe } from '../openapi.ts';
import { findWebhook } from '../webhooks/find.ts';
import { ofVisibleAccounts } from './find.ts';
import { DELIVERY_COLUMNS, DELIVERY_STATUSES, type DeliveryRow, DeliveryView, viewDelivery } from './view.ts';

const PER_PAGE = 100;

type Status = (typeof DELIVERY_STATUSES)[number];

const Query = v.strictObject({
  status: v.optional(v.picklist(DELIVERY_STATUSES, `must be one of ${DELIVERY_STATUSES.join(', ')}`)),
  cursor: v.optional(v.string()),
});

/** Ended ones lie in the index deliveries_due in order of their ids, since due_at is NULL; the others are read by movement. */
const kindOf = (status: Status | undefined): Extract<CursorKind, 'd1' | 'm1'> =>
  status === undefined || status === 'pending' ? 'm1' : 'd1';

/** GET /v1/webhooks/:id/deliveries */
export const listDeliveries = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Deliveries',
      summary: 'List what a webhook was sent, and is still owed',
      description: `${PER_PAGE} a page. Order: by movement, ascending; with the status delivered, failed or cancelled by id. The way on is in the header Link, rel="next".`,
      query: {
        status: { description: `One of ${DELIVERY_STATUSES.join(', ')}.`, example: 'failed' },
        cursor: { description: 'From a Link header; goes with the same status.' },
      },
      answer: { schema: v.object({ deliveries: v.array(DeliveryView) }), description: 'One page.' },
      problems: ['not-found', 'invalid'],
    }),
    async (c) => {
      const caller = c.get('caller');
      const webhook = await findWebhook(database, caller, readId(c, 'webhook'));
      const { status, cursor } = readQuery(c, Query);
      const kind = kindOf(status);
      const after = cursor === undefined ? '0' : decodeCursor(cursor, kind);
      if (after === null) {
        const message = 'must be taken from a Link header as it is, and go with the same status';
        throw invalid([{ path: 'cursor', message }]);
      }
      const rows = await readPage(database, caller, { webhookId: webhook.id, status, after });
      const page = rows.slice(0, PER_PAGE);
      const last = page.at(-1);
      if (rows.length > PER_PAGE && last !== undefined) {
        linkNext(c, encodeCursor(kind === 'd1' ? last.id : last.transaction_id, kind));
      }
      return c.json({ deliveries: page.map(viewDelivery) });
    },
  );

/** One row more than the page, to know whether there is a next one. */
function readPage(
  sql: Sql,
  caller: Caller,
  { webhookId, status, after }: { webhookId: string; status: Status | undefined; after: string },
): Promise<DeliveryRow[]> {
  const visible = ofVisibleAccounts(caller);
  const [index, order, clause, values] =
    kindOf(status) === 'd1'
      ? ['deliveries_due', 'd.id', 'd.status = ? AND d.due_at IS NULL AND d.id > ?', [status, after]]
      : status === undefined
        ? ['deliveries_once', 'd.transaction_id', 'd.transaction_id > ?', [after]]
        : ['deliveries_once', 'd.transaction_id', 'd.status = ? AND d.transaction_id > ?', [status, after]];
  return sql.query<DeliveryRow[]>(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries d FORCE INDEX (${index})
     WHERE d.webhook_id = ? AND ${clause} ${visible.sql} ORDER BY ${order} LIMIT ${PER_PAGE + 1}`,
    [webhookId, ...values, ...visible.values],
  );
}
