import * as v from 'valibot';
import { REPLAYABLE, replay } from '../../delivering/replay.ts';
import { createHandlers } from '../../http/environment.ts';
import { invalid } from '../../http/problem.ts';
import { parseMoment } from '../../listing/moment.ts';
import type { Runtime } from '../../runtime.ts';
import type { ZoneOffset } from '../../zone-offset.ts';
import { readId, readJson } from '../input.ts';
import { describe } from '../openapi.ts';
import { findWebhook } from './find.ts';
import { wakeWebhook } from './wake.ts';

const MOMENT_RULE =
  'must be a moment that exists, written YYYY-MM-DD HH:mm:ss, with an offset such as +03 if it is not the service’s';

const Range = (zone: ZoneOffset) => {
  const moment = v.pipe(
    v.string(MOMENT_RULE),
    v.check((text) => parseMoment(text, zone) !== null, MOMENT_RULE),
  );
  return v.strictObject({
    since: moment,
    until: v.optional(moment),
    status: v.optional(v.picklist(REPLAYABLE, `must be ${REPLAYABLE.map((it) => `"${it}"`).join(' or ')}`)),
  });
};

/** POST /v1/webhooks/:id/replay */
export const replayWebhook = (runtime: Runtime) => {
  const { config, database } = runtime;
  const ReplayRange = Range(config.zone);
  return createHandlers(
    describe({
      tag: 'Deliveries',
      summary: 'Send notifications of a webhook again',
      description:
        'Those that came to be owed from since to until, both included, and have been delivered or have failed; with status only those that ended so. They carry the same webhook-id and have the whole schedule before them. If the webhook is not active they wait until it is.',
      body: { 'application/json': ReplayRange },
      answer: {
        status: 202,
        schema: v.object({ replayed: v.number() }),
        description: 'How many are owed again.',
      },
      problems: ['malformed', 'not-found', 'too-large', 'unsupported-media-type', 'invalid'],
    }),
    async (c) => {
      const { accountIds } = c.get('caller');
      const { id } = await findWebhook(database, c.get('caller'), readId(c, 'webhook'));
      const { since, until, status } = await readJson(c, ReplayRange);
      const from = parseMoment(since, config.zone) ?? since;
      const to = until === undefined ? undefined : (parseMoment(until, config.zone) ?? until);
      if (to !== undefined && from > to) {
        throw invalid([{ path: 'since', message: 'must not be later than until' }]);
      }
      const replayed = await replay(database, {
        webhookId: id,
        since: from,
        until: to,
        statuses: status === undefined ? undefined : [status],
        accountIds,
      });
      if (replayed > 0) await wakeWebhook(runtime, id);
      return c.json({ replayed }, 202);
    },
  );
};
