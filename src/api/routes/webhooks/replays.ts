import type { Context } from 'hono';
import * as v from 'valibot';
import { cancelReplay } from '../../../deliveries/cancel-replay.ts';
import { maySeeReplay, readReplay, readReplays } from '../../../deliveries/replay-progress.ts';
import { ReplayProgressView, viewProgress } from '../../../deliveries/replay-view.ts';
import type { Webhook } from '../../../platform/database/entities/webhook.ts';
import { notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import type { ApiEnv } from '../../environment.ts';
import { readId, readQuery } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { cutPage, paging, pagingParameters } from '../../paging.ts';
import { createRoute } from '../../route.ts';

const PER_PAGE = 100;

const Query = v.strictObject(paging('p1', PER_PAGE));

const ofReplay = { id: idParameter('webhook'), replay_id: idParameter('replay') };

/** GET /v1/webhooks/:id/replays */
export const listReplaysRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      operationId: 'listReplays',
      summary: 'List the replays of a webhook',
      description:
        'Lists replays with what is sent and left, the newest first. Finished replays are removed after as long as deliveries. If there is a next page, the header Link has its path.',
      path: { id: idParameter('webhook') },
      query: pagingParameters('p1', PER_PAGE),
      answer: {
        schema: v.object({ replays: v.array(ReplayProgressView) }),
        description: 'A page of replays.',
      },
    },
    async (c) => {
      const caller = c.get('caller');
      const { per_page, cursor = null } = readQuery(c, Query);
      const webhook = await findWebhook(database, caller, readId(c, 'webhook'));
      const found = await readReplays(database, webhook.id, { before: cursor, limit: per_page + 1 });
      const page = cutPage(c, 'p1', found, per_page).filter((it) => maySeeReplay(caller, webhook, it));
      return c.json({ replays: page.map((it) => viewProgress(webhook.id, it)) });
    },
  );

/** GET /v1/webhooks/:id/replays/:replay_id */
export const getReplayRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      operationId: 'getReplay',
      summary: 'Show how far a replay is',
      description:
        'Shows how many deliveries are sent and left, and how many were sent per second since it began.',
      path: ofReplay,
      answer: { schema: v.object({ replay: ReplayProgressView }), description: 'The replay.' },
    },
    async (c) => {
      const webhook = await findWebhook(database, c.get('caller'), readId(c, 'webhook'));
      return c.json({ replay: await show(c, { database }, webhook) });
    },
  );

/** POST /v1/webhooks/:id/replays/:replay_id/cancel */
export const cancelReplayRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'webhooks',
      alsoNeeds: 'read',
      operationId: 'cancelReplay',
      summary: 'Cancel a replay',
      description:
        'Nothing more of the replay is sent. Its pending deliveries become delivered or failed again, as their last attempt ended. What was sent stays; a POST that is in flight may still arrive. Deliveries that were pending before the replay, and those of new movements, are sent. Cancelling it once more changes nothing. If it is done, the answer is 409.',
      path: ofReplay,
      answer: { schema: v.object({ replay: ReplayProgressView }), description: 'The cancelled replay.' },
      problems: ['replay-done'],
    },
    async (c) => {
      const caller = c.get('caller');
      const webhook = await findWebhook(runtime.database, caller, readId(c, 'webhook'));
      const { id } = await show(c, runtime, webhook);
      await cancelReplay(runtime, caller, { webhookId: webhook.id, replayId: String(id) });
      return c.json({ replay: await show(c, runtime, webhook) });
    },
  );

/** @throws {Problem} 404. */
async function show(c: Context<ApiEnv>, { database }: Pick<Runtime, 'database'>, webhook: Webhook) {
  const replay = await readReplay(database, webhook.id, readId(c, 'replay', 'replay_id'));
  if (replay === undefined || !maySeeReplay(c.get('caller'), webhook, replay)) throw notFound('replay');
  return viewProgress(webhook.id, replay);
}
