import { beforeAll, describe, expect, it } from 'vitest';
import { readFigures } from '../../src/verdict/state/figures.ts';
import { readVerdict } from '../../src/verdict/verdict.ts';
import { watchWebhooks } from '../../src/verdict/watch-webhooks.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber, setCursor } from '../support/subscriber.ts';

// The only webhook, so that the figures are about it. Nothing is sent, because no process has the role delivery.
const service = useOwnService({ because: 'the figures are those of one webhook', roles: ['api'] });
const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

let subscriber: Subscriber;
let id: string;
beforeAll(async () => {
  subscriber = await createSubscriber(service, NOWHERE, { max_in_flight: 4 });
  id = subscriber.webhookIds[0] ?? '';
  await subscriber.store(3);
});

/** What each surface says of the webhook. */
async function ask() {
  const { database } = service.runtime;
  const { body } = await service.call('GET', `/v1/webhooks/${id}`, { key: subscriber.key });
  const figures = await readFigures(database);
  const verdict = await readVerdict(database, { mysql: 'ok', redis: 'ok', hostProblems: [] });
  const page = String(
    (await service.callOps('GET', `/ops/webhooks/${id}`, { headers: { Accept: 'text/html' } })).body,
  );
  return {
    api: body.webhook.health.circuit as string,
    metrics: Object.entries(figures.circuits).flatMap(([state, count]) => (count === 1 ? [state] : [])),
    standing: (body.webhook.standing as { kind: string; limit: string | null }[]).map(({ kind, limit }) =>
      limit === null ? kind : `${kind} ${limit}`,
    ),
    verdict: verdict.troubles
      .filter(({ subject }) => subject?.type === 'webhook')
      .map(({ kind }) => kind.replace('webhook_', '')),
    page: page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' '),
  };
}

const expectCircuit = async (state: string) => {
  const { api, metrics } = await ask();
  expect({ api, metrics }).toEqual({ api: state, metrics: [state] });
};
const setAge = (seconds: number) =>
  query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL ? SECOND', seconds);

describe('the circuit of a webhook is the same for all who ask', () => {
  it.each([
    ['new', 'closed', 'recovery_successes = 0, circuit_openings = 0, circuit_open_until = NULL'],
    ['after its first success', 'closed', 'recovery_successes = 1'],
    ['recovered', 'closed', 'recovery_successes = NULL'],
    ['failing', 'closed', 'failing_since = NOW(6), consecutive_failures = 1'],
    [
      'open',
      'open',
      'recovery_successes = 0, circuit_openings = 1, circuit_open_until = NOW(6) + INTERVAL 1 MINUTE',
    ],
    ['when that time is over', 'half_open', 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND'],
    [
      'after the probe',
      'closed',
      'recovery_successes = 1, circuit_openings = 0, circuit_open_until = NULL, failing_since = NULL',
    ],
  ])('%s: %s', async (_, state, columns) => {
    await setCursor(service, id, columns);
    await expectCircuit(state);
  });
});

describe('a webhook that is behind', () => {
  it('is behind for all from five minutes on, and until its oldest movement is younger than two and a half', async () => {
    const { database } = service.runtime;
    const say = async () => {
      const { standing, verdict, page } = await ask();
      return { standing, verdict, isOnPage: page.includes('is behind') };
    };
    const behind = { standing: ['behind recovering'], verdict: ['behind'], isOnPage: true };
    const well = { standing: [], verdict: [], isOnPage: false };
    await setCursor(service, id, 'recovery_successes = 1, progressed_at = NOW(6)');
    await setAge(290);
    await watchWebhooks(database);
    expect(await say()).toEqual(well);
    await setAge(400);
    // Before and after the next look.
    expect(await say()).toEqual(behind);
    await watchWebhooks(database);
    expect(await say()).toEqual(behind);
    await setAge(200);
    expect(await say()).toEqual(behind);
    await watchWebhooks(database);
    expect(await say()).toEqual(behind);
    await setAge(100);
    expect(await say()).toEqual(well);
    await watchWebhooks(database);
    await setAge(200);
    expect(await say()).toEqual(well);
    const events = await query<{ type: string }>(
      'SELECT type FROM operational_events WHERE webhook_id = ? ORDER BY id',
      id,
    );
    expect(events.map(({ type }) => type)).toEqual(['webhook.behind', 'webhook.caught_up']);
  });
});
