import * as v from 'valibot';
import { type Caller, maySee } from '../../../customers/caller.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { isOfEvents } from '../../../database/webhook-enums.ts';
import { DeliveryView, LISTED_STATUSES, viewDelivery } from '../../../delivery/delivery.ts';
import { findIdBounds, readPage } from '../../../delivery/list-deliveries.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { BEYOND_NEWEST, encodeCursor, linkNext, paging, pagingParameters } from '../../../http/paging.ts';
import { MOMENT, Moment, type ZoneOffset } from '../../../platform/moment.ts';
import { invalid } from '../../../platform/problem.ts';
import { Id } from '../../../platform/validation.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

const Query = (zone: ZoneOffset) =>
  v.strictObject({
    status: v.optional(v.picklist(LISTED_STATUSES, `must be one of ${LISTED_STATUSES.join(', ')}`)),
    account: v.optional(Id),
    movement: v.optional(Id),
    since: v.optional(Moment(zone)),
    until: v.optional(Moment(zone)),
    ...paging('m2', PER_PAGE),
  });

const MOMENT_SCHEMA = { type: 'string', pattern: MOMENT } as const;

const ID = { type: 'integer', minimum: 1 } as const;

/** GET /v1/webhooks/:id/deliveries */
export const listDeliveriesRoute = ({ config, database }: Runtime) => {
  const DeliveryQuery = Query(config.zone);
  return createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      operationId: 'listWebhookDeliveries',
      summary: 'List the deliveries of a webhook',
      description:
        'Lists deliveries, the newest movement first. If there is a next page, the header Link has its path. If only a few of very many deliveries match, a page may have fewer than per_page deliveries, or none, and still have a next page.',
      query: {
        status: {
          description: 'Only deliveries with this status.',
          example: 'failed',
          schema: { type: 'string', enum: [...LISTED_STATUSES] },
        },
        account: { description: 'Only movements, or balances, of this account.', schema: ID },
        movement: { description: 'Only the delivery of this movement.', schema: ID },
        since: {
          description:
            'The earliest date_readed of the movement, inclusive. It must not be later than until.',
          schema: MOMENT_SCHEMA,
        },
        until: { description: 'The latest date_readed of the movement, inclusive.', schema: MOMENT_SCHEMA },
        ...pagingParameters('m2', PER_PAGE),
      },
      path: { id: idParameter('webhook') },
      answer: {
        schema: v.object({ deliveries: v.array(DeliveryView) }),
        description: 'A page of deliveries.',
      },
    },
    async (c) => {
      const caller = c.get('caller');
      const { id: webhookId, event } = await findWebhook(database, caller, readId(c, 'webhook'));
      const ofEvents = isOfEvents(event);
      const query = readQuery(c, DeliveryQuery);
      if (ofEvents && query.movement !== undefined) return c.json({ deliveries: [] });
      const { since, until, cursor: before = BEYOND_NEWEST } = query;
      if (since !== undefined && until !== undefined && since > until)
        throw invalid([{ path: 'since', message: 'must not be later than until' }]);
      const contents = { customerId: caller.customerId, ofEvents };
      const bounds = await findIdBounds(database, contents, { since, until, before });
      const range = { webhookId, perPage: query.per_page, ofEvents, ...only(query.movement, bounds) };
      const page = await readPage(database, narrow(caller, query.account), range, query.status ?? null);
      if (page.next !== null) linkNext(c, encodeCursor(page.next, 'm2'));
      return c.json({ deliveries: page.rows.map((row) => viewDelivery(row)) });
    },
  );
};

/** Limits bounds to one movement, if the request names one. */
function only(movement: string | undefined, bounds: { after: string; before: string }) {
  if (movement === undefined) return bounds;
  const id = BigInt(movement);
  const isWithin = id > BigInt(bounds.after) && id < BigInt(bounds.before);
  return isWithin
    ? { after: String(id - 1n), before: String(id + 1n) }
    : { after: movement, before: movement };
}

/** Limits the caller to the account that the request names. An account that the key may not see has no deliveries. */
function narrow(caller: Caller, account: string | undefined): Caller {
  if (account === undefined) return caller;
  return { ...caller, accountIds: maySee(caller, account) ? [account] : [] };
}
