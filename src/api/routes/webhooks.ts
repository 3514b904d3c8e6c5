import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { type Caller, isOperator } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import { cancelReplay } from '../../delivery/cancel-replay.ts';
import { REPLAYABLE, type Replayable } from '../../delivery/delivery.ts';
import {
  maySeeReplay,
  type ReplayProgress,
  ReplayProgressView,
  ReplayView,
  readReplay,
  readReplays,
  viewProgress,
  viewReplay,
} from '../../delivery/replay-view.ts';
import { countReplay, requestReplay } from '../../delivery/replays.ts';
import { sendTestNotification, TestView } from '../../delivery/requests.ts';
import { createQuota, tooManyRequests } from '../../http/admission.ts';
import { Flag, readId, readJson, readQuery } from '../../http/input.ts';
import { linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { Moment, type ZoneOffset } from '../../platform/moment.ts';
import { invalid, notFound, Problem } from '../../platform/problem.ts';
import { shortList } from '../../platform/validation.ts';
import { StandingWebhookView, viewStanding, viewStandings } from '../../verdict/standing-view.ts';
import { findOwnWebhook, findWebhook, findWebhooks } from '../../webhooks/find-webhook.ts';
import { NewWebhook, WebhookChange } from '../../webhooks/webhook-input.ts';
import { changeWebhook, createWebhook, deleteWebhook, rotateWebhookSecret } from '../../webhooks/webhooks.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

/** The routes of webhooks, of their secrets and tests, and of replays. */

const Query = v.strictObject(paging('w1', MAX_PER_PAGE));

const MINUTE_IN_SECONDS = 60;

/** How many test notifications one customer may send in a minute, and how many one host and port may get from all customers. */
export const TESTS_PER_MINUTE = 10;

/**
 * Creates a function that counts a test notification. Without a limit, a customer could change the endpoint and send a test to each
 * port of a host, or send many tests to somebody else's host. All processes share the count while Redis is reachable.
 */
function limitTests({ redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>) {
  const quota = (name: string) =>
    createQuota({
      redis,
      prefix: `${prefix}:tests:${name}`,
      limit: TESTS_PER_MINUTE,
      windowSeconds: MINUTE_IN_SECONDS,
    });
  const byCustomer = quota('customer');
  const byHost = quota('host');

  /** @throws {Problem} 429 when the customer or the host has had too many tests. */
  return function countTest(customerId: string, endpoint: string | null): void {
    const refuseAbove = (quota: ReturnType<typeof byHost.take>, detail: string) => {
      if (quota.exhausted) throw tooManyRequests('too-many-tests', quota, detail);
    };
    const most = `${TESTS_PER_MINUTE} test notifications per minute`;
    refuseAbove(byCustomer.take(customerId), `Your webhooks may send ${most}, and have sent them.`);
    if (endpoint === null) return;
    const { host } = new URL(endpoint);
    refuseAbove(byHost.take(host), `This endpoint may get ${most}, and has had them.`);
  };
}

const STATUS_RULE = `must be ${REPLAYABLE.map((it) => `"${it}"`).join(' or ')}, or a list of both`;
/** A list may name a status twice. */
const MAX_STATUSES = 100;
const STATUSES_RULE = `must be a list of at most ${MAX_STATUSES} names`;
/** The statuses of deliveries that are sent again. */
export const ReplayStatus = v.picklist(REPLAYABLE, STATUS_RULE);

/** `dry_run` is in the query string, as for an import, where the body is the file. */
const ReplayQuery = v.strictObject({
  dry_run: v.pipe(Flag, v.description('true: only count. Nothing is sent again.')),
});

export const Range = (zone: ZoneOffset) =>
  v.strictObject({
    since: Moment(zone),
    until: v.optional(Moment(zone)),
    status: v.pipe(
      v.optional(
        v.union(
          [
            ReplayStatus,
            v.pipe(shortList(ReplayStatus, MAX_STATUSES, STATUSES_RULE), v.minLength(1, STATUS_RULE)),
          ],
          STATUS_RULE,
        ),
      ),
      v.description('Default: failed.'),
    ),
  });

/** @throws {Problem} 422: the position of a feed can only move back, before all that came later. */
function requireSinceAlone(range: { until?: unknown; status?: unknown }): void {
  const [first, ...others] = (['until', 'status'] as const).filter((name) => range[name] !== undefined);
  const message = 'must be left out: a feed is read again from since on';
  if (first !== undefined)
    throw invalid([{ path: first, message }, ...others.map((path) => ({ path, message }))]);
}

/**
 * Checks the range of a replay.
 * @returns the statuses of the deliveries that are sent again: by default, the failed ones; of a feed, all.
 * @throws {Problem} 422.
 */
export function readStatuses(
  range: v.InferOutput<ReturnType<typeof Range>>,
  delivery: 'push' | 'pull',
): Replayable[] {
  if (delivery === 'pull') requireSinceAlone(range);
  const { since, until, status = delivery === 'pull' ? REPLAYABLE : 'failed' } = range;
  if (until !== undefined && since > until)
    throw invalid([{ path: 'since', message: 'must not be later than until' }]);
  return typeof status === 'string' ? [status] : [...status];
}

const PER_PAGE = 100;

const ReplaysQuery = v.strictObject(paging('p1', PER_PAGE));

/** Index: the primary key. */
const OF_CUSTOMER = 'SELECT webhook_id FROM replays WHERE id = ? AND customer_id = ?';

/** Reads a replay that a caller can see. @throws {Problem} 404. */
async function findReplay(
  database: DataSource,
  caller: Caller,
  id: string,
): Promise<{ webhookId: string; replay: ReplayProgress }> {
  const [row] = await database.query<{ webhook_id: string }[]>(OF_CUSTOMER, [id, caller.customerId]);
  if (row === undefined) throw notFound('replay');
  const webhook = await findWebhook(database, caller, row.webhook_id).catch((error: unknown) => {
    throw error instanceof Problem ? notFound('replay') : error;
  });
  const replay = await readReplay(database, webhook.id, id);
  if (replay === undefined || !maySeeReplay(caller, webhook, replay)) throw notFound('replay');
  return { webhookId: webhook.id, replay };
}

/** Adds the routes of webhooks and their replays. */
export function addWebhookRoutes(route: AddRoute, runtime: Runtime, guard: AddressGuard): void {
  const { config, database } = runtime;
  route('GET /v1/webhooks', {
    tag: 'Webhooks',
    scope: 'read',
    operationId: 'listWebhooks',
    summary: 'List your webhooks',
    description: 'Lists webhooks, the oldest first. If there is a next page, the header Link has its path.',
    query: Query,
    answer: {
      schema: v.object({ webhooks: v.array(StandingWebhookView) }),
      description: 'A page of webhooks.',
    },
    handle: async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const range = { after: cursor, limit: per_page + 1 };
      const found = await findWebhooks(runtime.database, c.get('caller'), range);
      const ids = linkPage(c, 'w1', found, per_page).map(({ id }) => id);
      return c.json({ webhooks: await viewStandings(runtime, ids) });
    },
  });

  route('GET /v1/webhooks/:id', {
    tag: 'Webhooks',
    scope: 'read',
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    path: { id: idParameter('webhook') },
    answer: {
      schema: v.object({ webhook: StandingWebhookView }),
      description: 'The webhook, without its secret.',
    },
    handle: async (c) => {
      const webhook = await findWebhook(runtime.database, c.get('caller'), readId(c, 'webhook'));
      return c.json({ webhook: await viewStanding(runtime, webhook.id) });
    },
  });

  route('POST /v1/webhooks', {
    tag: 'Webhooks',
    scope: 'webhooks',
    idempotent: true,
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description:
      'Every matching movement that is stored from now on is sent to the endpoint as a signed POST, and retried for about three days. With the delivery pull, there is no endpoint and no secret, and the events are read from GET /v1/webhooks/{id}/feed. With the event WITHDRAWN_TRANSACTION, the endpoint is sent withdrawals of movements: in place of new movements, or beside them if events lists both. With the event OPERATIONAL, the endpoint is sent operational events in place of movements: what fails at your webhooks, imports and sources. Its account must be all, and its encoding json. With the event BALANCE_UPDATED, the endpoint is sent newer closing balances of the account, in JSON. The secret is shown only in this answer.',
    body: { 'application/json': NewWebhook },
    answer: {
      schema: v.object({ webhook: StandingWebhookView }),
      description: 'The webhook, with its secret, unless the delivery is pull.',
      secrets: ['webhook.secret'],
    },
    problems: ['limited-api-key', 'endpoint-refused', 'webhook-limit-reached'],
    handle: async (c) => {
      const body = await readJson(c, NewWebhook);
      const { id, secret } = await createWebhook(runtime, guard, c.get('caller'), body);
      return c.json({ webhook: await viewStanding(runtime, id, secret) });
    },
  });

  route('PATCH /v1/webhooks/:id', {
    tag: 'Webhooks',
    scope: 'webhooks',
    operationId: 'updateWebhook',
    summary: 'Change a webhook, pause it, or activate it',
    description:
      'Changes any field of the webhook, or its status. A paused webhook keeps matching movements, which are pending until it is active again. Set status to active to enable a disabled webhook. A status of active, a new endpoint and new headers also reset the health of the endpoint. Deliveries that are pending at that time are sent with the new settings. A new event or account applies to movements that are stored from now on. event and events each replace all events of the webhook. The event cannot be changed to or from OPERATIONAL or BALANCE_UPDATED, nor the account of a webhook with the event BALANCE_UPDATED.',
    body: { 'application/json': WebhookChange },
    path: { id: idParameter('webhook') },
    answer: {
      schema: v.object({ webhook: StandingWebhookView }),
      description: 'The webhook, without its secret.',
    },
    problems: ['limited-api-key', 'pending-for-other-accounts', 'endpoint-refused', 'webhook-of-template'],
    handle: async (c) => {
      const caller = c.get('caller');
      const before = await findOwnWebhook(runtime.database, caller, readId(c, 'webhook'));
      const change = await readJson(c, WebhookChange);
      await changeWebhook(runtime, guard, caller, before, change);
      return c.json({ webhook: await viewStanding(runtime, before.id) });
    },
  });

  route('DELETE /v1/webhooks/:id', {
    tag: 'Webhooks',
    scope: 'webhooks',
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Nothing more is sent to the webhook, and its pending deliveries become cancelled. The log of its deliveries is kept as long as that of other webhooks.',
    path: { id: idParameter('webhook') },
    answer: { schema: v.object({ status: v.literal('success') }), description: 'The webhook is deleted.' },
    problems: ['webhook-of-template'],
    handle: async (c) => {
      const caller = c.get('caller');
      await deleteWebhook(runtime, caller, await findOwnWebhook(database, caller, readId(c, 'webhook')));
      return c.json({ status: 'success' });
    },
  });

  const countTest = limitTests(runtime);
  route('POST /v1/webhooks/:id/test', {
    tag: 'Webhooks',
    scope: 'webhooks',
    idempotent: true,
    operationId: 'testWebhook',
    summary: 'Send a test notification',
    description: `Sends one POST immediately, whatever the status of the webhook, with the header webhook-test: true and made-up values. It is not retried or logged, and does not change the webhook. You get the answer when the endpoint has answered, at most 15 seconds later. If the delivery is pull, the sample comes with the next answer of the feed, and its id begins with msg_test_. At most ${TESTS_PER_MINUTE} tests per minute are sent for a customer, and as many to the host and port of an endpoint.`,
    path: { id: idParameter('webhook') },
    answer: {
      status: 202,
      schema: v.object({ test: TestView }),
      description: 'What the endpoint answered.',
    },
    problems: ['too-many-tests'],
    handle: async (c) => {
      const caller = c.get('caller');
      const webhook = await findWebhook(runtime.database, caller, readId(c, 'webhook'));
      countTest(caller.customerId, webhook.endpoint);
      const asking = { isOperator: isOperator(caller.actor), traceparent: c.get('span')?.traceparent };
      const test = await sendTestNotification(runtime, guard, webhook, asking);
      return c.json({ test }, 202);
    },
  });

  route('POST /v1/webhooks/:id/rotate-secret', {
    tag: 'Webhooks',
    scope: 'webhooks',
    idempotent: true,
    operationId: 'rotateWebhookSecret',
    summary: "Replace a webhook's secret",
    description:
      'For 24 hours, notifications have two signatures: one with the new secret and one with the previous one. If you replace the secret again within that time, the last two secrets sign. A webhook with the delivery pull signs nothing, and has no secret to replace.',
    path: { id: idParameter('webhook') },
    answer: {
      schema: v.object({ webhook: StandingWebhookView }),
      description: 'The webhook, with its new secret, which is shown in this answer only.',
      secrets: ['webhook.secret'],
    },
    problems: ['pulled-webhook', 'webhook-of-template'],
    handle: async (c) => {
      const caller = c.get('caller');
      const webhook = await findOwnWebhook(database, caller, readId(c, 'webhook'));
      const secret = await rotateWebhookSecret(runtime, caller, webhook);
      return c.json({ webhook: await viewStanding(runtime, webhook.id, secret) });
    },
  });

  const ReplayRange = Range(config.zone);
  route('POST /v1/webhooks/:id/replay', {
    tag: 'Deliveries',
    scope: 'webhooks',
    alsoNeeds: 'read',
    idempotent: true,
    operationId: 'replayWebhook',
    summary: 'Replay notifications of a webhook',
    description:
      'Sends the deliveries of movements that were stored from since to until, both inclusive, again: the failed ones, or those with the statuses in status. The request is answered immediately, however many there are. They become pending one after the other, with the same webhook-id and a new retry schedule. If the webhook is paused, they are sent when it is active again. If it is disabled or deleted, the answer is 409. With dry_run=true nothing is sent: the answer says how many deliveries match. A feed has only since: its acknowledged position moves back, and cursors that were handed out before are answered 410.',
    query: ReplayQuery,
    body: { 'application/json': ReplayRange },
    path: { id: idParameter('webhook') },
    answer: {
      status: 202,
      schema: v.object({ replay: ReplayView }),
      description: 'The accepted replay, or, with dry_run=true, what it would send.',
    },
    problems: ['webhook-disabled', 'webhook-deleted', 'pending-for-other-accounts'],
    handle: async (c) => {
      const caller = c.get('caller');
      const { customerId, accountIds } = caller;
      const { id, event, delivery } = await findWebhook(database, caller, readId(c, 'webhook'));
      const { dry_run } = readQuery(c, ReplayQuery);
      const range = await readJson(c, ReplayRange);
      const statuses = readStatuses(range, delivery);
      const { since, until } = range;
      const request = { webhook: { id, customerId, event, delivery }, since, until, statuses, accountIds };
      const replay =
        dry_run === 'true'
          ? await countReplay(database, request)
          : await requestReplay(runtime, caller, request);
      return c.json({ replay: viewReplay(replay) }, 202);
    },
  });

  route('GET /v1/webhooks/:id/replays', {
    tag: 'Deliveries',
    scope: 'read',
    operationId: 'listReplays',
    summary: 'List the replays of a webhook',
    description:
      'Lists replays with what is sent and left, the newest first. Finished replays are removed after as long as deliveries. If there is a next page, the header Link has its path.',
    path: { id: idParameter('webhook') },
    query: ReplaysQuery,
    answer: {
      schema: v.object({ replays: v.array(ReplayProgressView) }),
      description: 'A page of replays.',
    },
    handle: async (c) => {
      const caller = c.get('caller');
      const { per_page, cursor = null } = readQuery(c, ReplaysQuery);
      const webhook = await findWebhook(database, caller, readId(c, 'webhook'));
      const found = await readReplays(database, webhook.id, { before: cursor, limit: per_page + 1 });
      const page = linkPage(c, 'p1', found, per_page).filter((it) => maySeeReplay(caller, webhook, it));
      return c.json({ replays: page.map((it) => viewProgress(webhook.id, it)) });
    },
  });

  route('GET /v1/replays/:id', {
    tag: 'Deliveries',
    scope: 'read',
    operationId: 'getReplay',
    summary: 'Show how far a replay is',
    description:
      'Shows how many deliveries are sent and left, and how many were sent per second since it began.',
    path: { id: idParameter('replay') },
    answer: { schema: v.object({ replay: ReplayProgressView }), description: 'The replay.' },
    handle: async (c) => {
      const { webhookId, replay } = await findReplay(database, c.get('caller'), readId(c, 'replay'));
      return c.json({ replay: viewProgress(webhookId, replay) });
    },
  });

  route('POST /v1/replays/:id/cancel', {
    tag: 'Deliveries',
    scope: 'webhooks',
    alsoNeeds: 'read',
    idempotent: true,
    operationId: 'cancelReplay',
    summary: 'Cancel a replay',
    description:
      'Nothing more of the replay is sent. Its pending deliveries become delivered or failed again, as their last attempt ended. What was sent stays; a POST that is in flight may still arrive. Deliveries that were pending before the replay, and those of new movements, are sent. Cancelling it once more changes nothing. If it is done, the answer is 409.',
    path: { id: idParameter('replay') },
    answer: { schema: v.object({ replay: ReplayProgressView }), description: 'The cancelled replay.' },
    problems: ['replay-done'],
    handle: async (c) => {
      const caller = c.get('caller');
      const id = readId(c, 'replay');
      const { webhookId } = await findReplay(runtime.database, caller, id);
      await cancelReplay(runtime, caller, { webhookId, replayId: id });
      const { replay } = await findReplay(runtime.database, caller, id);
      return c.json({ replay: viewProgress(webhookId, replay) });
    },
  });
}
