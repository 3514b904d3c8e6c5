import * as v from 'valibot';
import { type Caller, maySee } from '../../../customers/caller.ts';
import { DeliveryView, LISTED_STATUSES, viewDelivery } from '../../../deliveries/delivery-view.ts';
import { type Contents, newestBefore, readPage } from '../../../deliveries/list-deliveries.ts';
import type { Sql } from '../../../platform/database/transaction.ts';
import { MOMENT, Moment, type ZoneOffset } from '../../../platform/moment.ts';
import { invalid } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { Id } from '../../../platform/validation.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { readId, readQuery } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { BEYOND_NEWEST, encodeCursor, linkNext, paging, pagingParameters } from '../../paging.ts';
import { createRoute } from '../../route.ts';

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

type Query = v.InferOutput<ReturnType<typeof Query>>;

const MOMENT_SCHEMA = { type: 'string', pattern: MOMENT } as const;

const ID = { type: 'integer', minimum: 1 } as const;

/** GET /v1/webhooks/:id/deliveries */
export const listDeliveriesRoute = ({ config, database }: Runtime) => {
  const DeliveryQuery = Query(config.zone);
  return createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      summary: 'List the deliveries of a webhook',
      description:
        'Lists deliveries, the newest movement first. If there is a next page, the header Link has its path. If only a few of very many deliveries match, a page may have fewer than per_page deliveries, or none, and still have a next page.',
      query: {
        status: {
          description: 'Only deliveries with this status.',
          example: 'failed',
          schema: { type: 'string', enum: [...LISTED_STATUSES] },
        },
        account: { description: 'Only movements of this account.', schema: ID },
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
      const ofEvents = event === 'OPERATIONAL';
      const query = readQuery(c, DeliveryQuery);
      // Events are not about accounts or movements.
      if (ofEvents && (query.account ?? query.movement) !== undefined) return c.json({ deliveries: [] });
      const bounds = await findBounds(database, { customerId: caller.customerId, ofEvents }, query);
      const range = { webhookId, perPage: query.per_page, ofEvents, ...bounds };
      const page = await readPage(database, narrow(caller, query.account), range, query.status ?? null);
      if (page.next !== null) linkNext(c, encodeCursor(page.next, 'm2'));
      return c.json({ deliveries: page.rows.map((row) => viewDelivery(row)) });
    },
  );
};

/** The movements that a page is taken from. @throws {Problem} 422 where since is later than until. */
async function findBounds(
  sql: Sql,
  contents: Contents,
  { movement, since, until, cursor }: Query,
): Promise<{ after: string; before: string }> {
  if (since !== undefined && until !== undefined && since > until)
    throw invalid([{ path: 'since', message: 'must not be later than until' }]);
  const lower = [0n];
  const upper = [BigInt(cursor ?? BEYOND_NEWEST)];
  if (movement !== undefined) {
    lower.push(BigInt(movement) - 1n);
    upper.push(BigInt(movement) + 1n);
  }
  if (since !== undefined) lower.push(BigInt(await newestBefore(sql, contents, since, { inclusive: false })));
  if (until !== undefined)
    upper.push(BigInt(await newestBefore(sql, contents, until, { inclusive: true })) + 1n);
  const after = lower.reduce((one, other) => (one > other ? one : other));
  const before = upper.reduce((one, other) => (one < other ? one : other));
  return { after: String(after), before: String(before) };
}

/** As if the key were limited to the account that is asked for. An account that it may not see has no deliveries. */
function narrow(caller: Caller, account: string | undefined): Caller {
  if (account === undefined) return caller;
  return { ...caller, accountIds: maySee(caller, account) ? [account] : [] };
}
