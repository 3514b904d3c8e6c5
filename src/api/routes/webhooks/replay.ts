import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { REPLAYABLE } from '../../../delivery/delivery.ts';
import { ReplayView, viewReplay } from '../../../delivery/replay-view.ts';
import { countReplay, requestReplay } from '../../../delivery/replays.ts';
import { readId, readJson, readQuery } from '../../../http/input.ts';
import { Moment, type ZoneOffset } from '../../../platform/moment.ts';
import { invalid } from '../../../platform/problem.ts';
import { findWebhook } from '../../../webhooks/find-webhook.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const STATUS_RULE = `must be ${REPLAYABLE.map((it) => `"${it}"`).join(' or ')}, or a list of both`;
/** The statuses of deliveries that are sent again. */
export const ReplayStatus = v.picklist(REPLAYABLE, STATUS_RULE);

/** `dry_run` is in the query string, as for an import, where the body is the file. */
const Query = v.strictObject({
  dry_run: v.optional(v.picklist(['true', 'false'], 'must be "true" or "false"'), 'false'),
});

const Range = (zone: ZoneOffset) =>
  v.strictObject({
    since: Moment(zone),
    until: v.optional(Moment(zone)),
    status: v.optional(
      v.union([ReplayStatus, v.pipe(v.array(ReplayStatus), v.minLength(1, STATUS_RULE))], STATUS_RULE),
      'failed',
    ),
  });

/** POST /v1/webhooks/:id/replay */
export const replayWebhookRoute = (runtime: Runtime) => {
  const { config, database } = runtime;
  const ReplayRange = Range(config.zone);
  return createRoute(
    {
      tag: 'Deliveries',
      scope: 'webhooks',
      alsoNeeds: 'read',
      idempotent: true,
      operationId: 'replayWebhook',
      summary: 'Replay notifications of a webhook',
      description:
        'Sends the deliveries of movements that were stored from since to until, both inclusive, again: the failed ones, or those with the statuses in status. The request is answered immediately, however many there are. They become pending one after the other, with the same webhook-id and a new retry schedule. If the webhook is paused, they are sent when it is active again. If it is disabled or deleted, the answer is 409. With dry_run=true nothing is sent: the answer says how many deliveries match.',
      query: {
        dry_run: {
          description: 'true: only count. Nothing is sent again.',
          schema: { type: 'string', enum: ['true', 'false'] },
        },
      },
      body: { 'application/json': ReplayRange },
      path: { id: idParameter('webhook') },
      answer: {
        status: 202,
        schema: v.object({ replay: ReplayView }),
        description: 'The accepted replay, or, with dry_run=true, what it would send.',
      },
      problems: ['webhook-disabled', 'webhook-deleted'],
    },
    async (c) => {
      const caller = c.get('caller');
      const { customerId, accountIds } = caller;
      const { id, event } = await findWebhook(database, caller, readId(c, 'webhook'));
      const { dry_run } = readQuery(c, Query);
      const { since, until, status } = await readJson(c, ReplayRange);
      if (until !== undefined && since > until) {
        throw invalid([{ path: 'since', message: 'must not be later than until' }]);
      }
      const statuses = typeof status === 'string' ? [status] : status;
      const request = { webhook: { id, customerId, event }, since, until, statuses, accountIds };
      const replay =
        dry_run === 'true'
          ? await countReplay(database, request)
          : await requestReplay(runtime, caller, request);
      return c.json({ replay: viewReplay(replay) }, 202);
    },
  );
};
