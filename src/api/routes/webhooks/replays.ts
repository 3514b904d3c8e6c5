import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import type { Caller } from '../../../customers/caller.ts';
import type { Runtime } from '../../../database/runtime.ts';
import {
  maySeeReplay,
  type ReplayProgress,
  ReplayProgressView,
  readReplay,
  readReplays,
  viewProgress,
} from '../../../delivery/replay-view.ts';
import { cancelReplay } from '../../../delivery/replays.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { cutPage, paging, pagingParameters } from '../../../http/paging.ts';
import { notFound, Problem } from '../../../platform/problem.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

const Query = v.strictObject(paging('p1', PER_PAGE));

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

/** GET /v1/replays/:id */
export const getReplayRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Deliveries',
      scope: 'read',
      operationId: 'getReplay',
      summary: 'Show how far a replay is',
      description:
        'Shows how many deliveries are sent and left, and how many were sent per second since it began.',
      path: { id: idParameter('replay') },
      answer: { schema: v.object({ replay: ReplayProgressView }), description: 'The replay.' },
    },
    async (c) => {
      const { webhookId, replay } = await findReplay(database, c.get('caller'), readId(c, 'replay'));
      return c.json({ replay: viewProgress(webhookId, replay) });
    },
  );

/** POST /v1/replays/:id/cancel */
export const cancelReplayRoute = (runtime: Runtime) =>
  createRoute(
    {
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
    },
    async (c) => {
      const caller = c.get('caller');
      const id = readId(c, 'replay');
      const { webhookId } = await findReplay(runtime.database, caller, id);
      await cancelReplay(runtime, caller, { webhookId, replayId: id });
      const { replay } = await findReplay(runtime.database, caller, id);
      return c.json({ replay: viewProgress(webhookId, replay) });
    },
  );

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
