import * as v from 'valibot';
import { type Caller, maySee } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import { AttemptView, readAttempts, viewAttempt } from '../../delivery/attempts.ts';
import {
  DELIVERY_ID_PATTERN,
  DeliveryView,
  findDeliveriesOf,
  findDelivery,
  LISTED_STATUSES,
  requireDeliveryId,
  viewDelivery,
} from '../../delivery/delivery.ts';
import { findIdBounds, readPage } from '../../delivery/list-deliveries.ts';
import {
  RejectedBatchView,
  readRejectedBatches,
  viewRejectedBatch,
} from '../../delivery/rejected-batches.ts';
import { redeliver } from '../../delivery/replays.ts';
import { readId, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, paging } from '../../http/paging.ts';
import { findTransaction } from '../../movements/transactions.ts';
import { Moment, type ZoneOffset } from '../../platform/moment.ts';
import { invalid, notFound } from '../../platform/problem.ts';
import { IdText } from '../../platform/whole-numbers.ts';
import { findWebhook } from '../../webhooks/find-webhook.ts';
import { idParameter, type Parameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

/** The routes of deliveries, of a webhook and of a movement. */

/** The id of a delivery in a path, for /openapi.json. */
const DELIVERY_ID: Parameter = {
  description: 'The id of the delivery: <webhook_id>-<transaction_id>.',
  example: '17-4711',
  schema: { type: 'string', pattern: DELIVERY_ID_PATTERN.source },
};

const PER_PAGE = 100;

const Query = (zone: ZoneOffset) =>
  v.strictObject({
    status: v.pipe(
      v.optional(v.picklist(LISTED_STATUSES, `must be one of ${LISTED_STATUSES.join(', ')}`)),
      v.description('Only deliveries with this status.'),
      v.examples(['failed']),
    ),
    account: v.pipe(v.optional(IdText), v.description('Only movements, or balances, of this account.')),
    movement: v.pipe(v.optional(IdText), v.description('Only the delivery of this movement.')),
    since: v.pipe(
      v.optional(Moment(zone)),
      v.description('The earliest date_readed of the movement, inclusive. It must not be later than until.'),
    ),
    until: v.pipe(
      v.optional(Moment(zone)),
      v.description('The latest date_readed of the movement, inclusive.'),
    ),
    ...paging('m2', PER_PAGE),
  });

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

/** Adds the routes of deliveries. */
export function addDeliveryRoutes(route: AddRoute, runtime: Runtime): void {
  const { config, database } = runtime;
  const DeliveryQuery = Query(config.zone);
  route('GET /v1/webhooks/:id/deliveries', {
    tag: 'Deliveries',
    scope: 'read',
    operationId: 'listWebhookDeliveries',
    summary: 'List the deliveries of a webhook',
    description:
      'Lists deliveries, the newest movement first. If there is a next page, the header Link has its path. If only a few of very many deliveries match, a page may have fewer than per_page deliveries, or none, and still have a next page.',
    query: DeliveryQuery,
    path: { id: idParameter('webhook') },
    answer: {
      schema: v.object({ deliveries: v.array(DeliveryView) }),
      description: 'A page of deliveries.',
    },
    handle: async (c) => {
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
      linkNext(c, 'm2', page.next);
      return c.json({ deliveries: page.rows.map((row) => viewDelivery(row)) });
    },
  });

  route('GET /v1/deliveries/:id', {
    tag: 'Deliveries',
    scope: 'read',
    operationId: 'getDelivery',
    summary: 'Get a delivery and its attempts',
    description:
      'The id of a delivery is <webhook_id>-<transaction_id>: what follows msg_ in the header webhook-id. attempts is the number of attempts, and log lists those that are still kept. rejected_batches lists batches of up to a thousand events around this one that the receiver has rejected as a whole with 400, 413 or 422 (of the newest 100 of the webhook). Their events were sent again in smaller batches, and have no attempt by this.',
    path: { id: DELIVERY_ID },
    answer: {
      schema: v.object({
        delivery: v.object({
          ...DeliveryView.entries,
          log: v.array(AttemptView),
          rejected_batches: v.array(RejectedBatchView),
        }),
      }),
      description: 'The delivery, with its attempts from the first to the last.',
    },
    handle: async (c) => {
      const key = requireDeliveryId(c.req.param('id'));
      const delivery = await findDelivery(database, c.get('caller'), key);
      const [log, rejected] = await Promise.all([
        readAttempts(database, { webhookIds: [key.webhookId], subjectIds: [key.subjectId] }),
        readRejectedBatches(database, key),
      ]);
      return c.json({
        delivery: {
          ...viewDelivery(delivery, delivery.webhook_status),
          log: log.map(viewAttempt),
          rejected_batches: rejected.map(viewRejectedBatch),
        },
      });
    },
  });

  route('POST /v1/deliveries/:id/redeliver', {
    tag: 'Deliveries',
    scope: 'webhooks',
    alsoNeeds: 'read',
    idempotent: true,
    operationId: 'redeliver',
    summary: 'Send a notification again',
    description:
      'A delivered or failed delivery becomes pending again, with the same webhook-id and a new retry schedule. A pending one becomes due now. If the webhook is paused, the delivery is sent when the webhook is active again. If the webhook is disabled or deleted, or the account of the movement is being deleted, the answer is 409.',
    path: { id: DELIVERY_ID },
    answer: {
      status: 202,
      schema: v.object({ delivery: DeliveryView }),
      description: 'The delivery, now pending.',
    },
    problems: [
      'webhook-disabled',
      'webhook-deleted',
      'account-deleting',
      'movement-withdrawn',
      'pulled-webhook',
    ],
    handle: async (c) => {
      const delivery = await redeliver(runtime, c.get('caller'), requireDeliveryId(c.req.param('id')));
      return c.json({ delivery: viewDelivery(delivery) }, 202);
    },
  });
}

/** Adds the list of the deliveries of a movement. */
export function addMovementDeliveriesRoute(route: AddRoute, { config, database }: Runtime): void {
  route('GET /v1/transactions/:id/deliveries', {
    tag: 'Deliveries',
    scope: 'read',
    operationId: 'listTransactionDeliveries',
    summary: 'List the deliveries of a movement',
    description:
      'Shows which webhooks the movement was or will be sent to, and what their endpoints answered: one delivery for each webhook.',
    path: { id: idParameter('movement') },
    answer: {
      schema: v.object({ deliveries: v.array(DeliveryView) }),
      description: 'The deliveries, by webhook id.',
    },
    handle: async (c) => {
      const caller = c.get('caller');
      const id = readId(c, 'movement');
      if ((await findTransaction(database, caller, id, config.zone)) === null) throw notFound('movement');
      const deliveries = await findDeliveriesOf(database, caller, id);
      return c.json({ deliveries: deliveries.map((row) => viewDelivery(row, row.webhook_status)) });
    },
  });
}
