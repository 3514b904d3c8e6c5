import type { Context } from 'hono';
import * as v from 'valibot';
import { type Caller, maySee } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import { isOfEvents } from '../../database/webhook-enums.ts';
import {
  AttemptView,
  DELIVERY_ID_PATTERN,
  DeliveryView,
  findDeliveriesOf,
  findDelivery,
  LISTED_STATUSES,
  readAttempts,
  requireDeliveryId,
  viewAttempt,
  viewDelivery,
} from '../../delivery/delivery.ts';
import { findIdBounds, readPage } from '../../delivery/list-deliveries.ts';
import {
  RejectedBatchView,
  readRejectedBatches,
  viewRejectedBatch,
} from '../../delivery/rejected-batches.ts';
import { redeliver } from '../../delivery/replays.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { renderPage, renderTransaction, TransactionView } from '../../movements/body.ts';
import type { Listing } from '../../movements/listing.ts';
import {
  type AccountsOfRows,
  addExtended,
  createPageOffsetCache,
  findTransaction,
  listTransactions,
  type PageOffsetCache,
  readAccounts,
} from '../../movements/transactions.ts';
import { Moment, type ZoneOffset } from '../../platform/moment.ts';
import { invalid, notFound } from '../../platform/problem.ts';
import { CalendarDate } from '../../platform/validation.ts';
import { IdText, WholeNumber } from '../../platform/whole-numbers.ts';
import { findWebhook } from '../../webhooks/find-webhook.ts';
import { idParameter, type Parameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

const Fields = v.pipe(
  v.optional(v.picklist(['extended'], 'must be "extended", or left out')),
  v.description('"extended" adds what the bank says beyond the usual fields, as the object extended.'),
);

const TransactionQuery = v.strictObject({ fields: Fields });

const MAX_PAGE = 999_999_999_999;

const ListingQuery = (zone: ZoneOffset) =>
  v.strictObject({
    starts: v.pipe(
      v.optional(CalendarDate),
      v.description('The first date_issue, inclusive. It must not be later than ends.'),
      v.examples(['2026-01-01']),
    ),
    ends: v.pipe(v.optional(CalendarDate), v.description('The last date_issue, inclusive.')),
    after: v.pipe(
      v.optional(Moment(zone)),
      v.description(
        'The earliest date_readed, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.',
      ),
    ),
    page: v.pipe(
      v.optional(WholeNumber(1, MAX_PAGE, 'must be a whole number from 1')),
      v.description('The number of the page, from 1. Not together with cursor.'),
    ),
    ...paging('t1', MAX_PER_PAGE),
    fields: Fields,
  });

const listing = (zone: ZoneOffset) => ({
  tag: 'Movements',
  scope: 'read' as const,
  operationId: 'listTransactions',
  summary: 'List movements',
  description:
    'Lists movements in the order of their ids. Give at least one of starts, ends and after. To read all pages, follow the header Link, rel="next": its cost does not grow with the number of pages. A page behind the last one is an empty list.',
  query: ListingQuery(zone),
  answer: {
    schema: v.object({ transactions: v.array(TransactionView) }),
    description: 'A page of movements.',
  },
});

function readListing(
  c: Context<ApiEnv>,
  query: ReturnType<typeof ListingQuery>,
  scope: Pick<Listing, 'customerId' | 'accountIds'>,
): { listing: Listing; isExtended: boolean } {
  const { starts, ends, after, page, per_page, cursor, fields } = readQuery(c, query);
  if (starts === undefined && ends === undefined && after === undefined) {
    throw invalid([{ path: 'starts', message: 'is required, unless ends or after is given' }]);
  }
  if (starts !== undefined && ends !== undefined && starts > ends) {
    throw invalid([{ path: 'starts', message: 'must not be later than ends' }]);
  }
  if (page !== undefined && cursor !== undefined) {
    throw invalid([{ path: 'page', message: 'must not be given together with cursor' }]);
  }
  const listing = {
    ...scope,
    starts: starts ?? null,
    ends: ends ?? null,
    after: after ?? null,
    cursor: cursor ?? null,
    page: page ?? 1,
    perPage: per_page,
  };
  return { listing, isExtended: fields === 'extended' };
}

async function answer(
  c: Context<ApiEnv>,
  { config, database }: Runtime,
  offsets: PageOffsetCache,
  { listing, isExtended }: ReturnType<typeof readListing>,
  accounts?: AccountsOfRows,
): Promise<Response> {
  const page = await listTransactions(database, offsets.shorten(listing), config.zone, accounts);
  offsets.keep(listing, page);
  if (isExtended) await addExtended(database, page.transactions);
  linkNext(c, 't1', page.next);
  return c.body(renderPage(page.transactions), 200, { 'Content-Type': 'application/json' });
}

/** Adds the routes of movements and their deliveries. */
export function addMovementRoutes(route: AddRoute, runtime: Runtime): void {
  const { config, database } = runtime;
  const offsets = createPageOffsetCache();
  const LISTING = listing(config.zone);
  route('GET /v1/transactions', {
    ...LISTING,
    handle: (c) => {
      const { customerId, accountIds } = c.get('caller');
      return answer(c, runtime, offsets, readListing(c, LISTING.query, { customerId, accountIds }));
    },
  });

  route('GET /v1/transactions/:id', {
    tag: 'Movements',
    scope: 'read',
    operationId: 'getTransaction',
    summary: 'Get a movement',
    path: { id: idParameter('movement') },
    query: TransactionQuery,
    answer: { schema: v.object({ transaction: TransactionView }), description: 'The movement.' },
    handle: async (c) => {
      const { fields } = readQuery(c, TransactionQuery);
      const transaction = await findTransaction(
        database,
        c.get('caller'),
        readId(c, 'movement'),
        config.zone,
      );
      if (transaction === null) throw notFound('movement');
      if (fields === 'extended') await addExtended(database, [transaction]);
      return c.body(`{"transaction":${renderTransaction(transaction)}}`, 200, {
        'Content-Type': 'application/json',
      });
    },
  });

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

/** Adds the listing of one account. */
export function addAccountMovementRoute(route: AddRoute, runtime: Runtime): void {
  const { config, database } = runtime;
  const offsets = createPageOffsetCache();
  const LISTING = listing(config.zone);
  route('GET /v1/accounts/:account_id/transactions', {
    ...LISTING,
    operationId: 'listAccountTransactions',
    summary: 'List the movements of an account',
    path: { account_id: idParameter('account') },
    handle: async (c) => {
      const caller = c.get('caller');
      const account_id = readId(c, 'account', 'account_id');
      if (!maySee(caller, account_id)) throw notFound('account');
      const accounts = await readAccounts(database, caller.customerId, [{ account_id }]);
      if (accounts.size === 0) throw notFound('account');
      const scope = { customerId: caller.customerId, accountIds: [...accounts.keys()] };
      return answer(c, runtime, offsets, readListing(c, LISTING.query, scope), accounts);
    },
  });
}

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
    problems: ['webhook-disabled', 'webhook-deleted', 'account-deleting', 'pulled-webhook'],
    handle: async (c) => {
      const delivery = await redeliver(runtime, c.get('caller'), requireDeliveryId(c.req.param('id')));
      return c.json({ delivery: viewDelivery(delivery) }, 202);
    },
  });
}
