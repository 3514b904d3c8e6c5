import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { createInstallationGauges } from '../../src/console/metrics/metrics-page.ts';
import { reportFailingWebhooks } from '../../src/delivery/report-failing-webhooks.ts';
import { RETRY_DELAYS } from '../../src/delivery/run/schedule.ts';
import { wakeChangedWebhook } from '../../src/delivery/wake.ts';
import { startDeliveryWorker } from '../../src/delivery/worker.ts';
import { watchWebhooks } from '../../src/verdict/watch-webhooks.ts';
import { documentOf, runHere } from '../cli/command.ts';
import { parseExposition } from '../support/exposition.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import {
  type CursorRow,
  createSubscriber,
  cursorOf,
  type Subscriber,
  setCursor,
} from '../support/subscriber.ts';
import { until } from '../support/until.ts';

/** A webhook is walked through its life. After each step, all who can be asked about it say the same. */

// The only webhook, so that the figures are about it. Something is sent only while a step says so.
const service = useOwnService({ because: 'the figures are those of one webhook', roles: ['api'] });
const receiver = useReceiver();
const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

let subscriber: Subscriber;
let id: string;
beforeAll(async () => {
  subscriber = await createSubscriber(service, `${receiver.url}/`, { title: 'Depo', max_in_flight: 4 });
  id = subscriber.webhookIds[0] ?? '';
});

function cli(...args: string[]) {
  const { config, prefix } = service.runtime;
  return runHere(args, {
    DATA_DIR: config.dataDir,
    DATABASE_URL: config.databaseUrl ?? '',
    REDIS_URL: config.redisUrl ?? '',
    SECRET_KEY: config.secretKey?.toString() ?? '',
    REDIS_PREFIX: prefix,
    ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
  });
}

interface Said {
  status: string;
  /** What is wrong with it, by kind. */
  kinds: string[];
  circuit: string;
  pending: number;
}

const text = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
const readPage = async (path: string) =>
  String((await service.callOps('GET', path, { headers: { Accept: 'text/html' } })).body);
/** The words of a state, without the time of the next attempt. */
const tagsOf = (html: string) =>
  [...html.matchAll(/<span class="tag \w+">(.*?)<\/span>/gs)].map(([, word = '']) => word);

/** The gauges of `/metrics`, which a process otherwise keeps for ten seconds. */
async function readGauges(): Promise<ReadonlyMap<string, number>> {
  const registry = new Registry();
  const prefix = randomBytes(6).toString('hex');
  await createInstallationGauges(registry, { ...service.runtime, prefix })();
  return parseExposition(await registry.metrics()).samples;
}

/** The labels of a gauge that are not 0. */
const labelsOf = (samples: ReadonlyMap<string, number>, name: string, label: string) =>
  [...samples].flatMap(([sample, value]) => {
    const [, of] = new RegExp(`^ledgerbell_${name}\\{.*?${label}="(\\w+)"`).exec(sample) ?? [];
    return of === undefined || value === 0 ? [] : [of];
  });

/** Everything that can be wrong with a webhook. */
const KINDS = ['failing', 'flapping', 'behind', 'unread', 'disabled', 'quarantined'];

const readApi = async () =>
  (await service.call('GET', `/v1/webhooks/${id}`, { key: subscriber.key })).body.webhook;

/** The scopes of its troubles, in the metrics. */
const scopesOf = (samples: ReadonlyMap<string, number>) =>
  [...samples].flatMap(([sample, value]) => {
    const [, scope] = /^ledgerbell_troubles\{kind="webhook_\w+",scope="(\w+)"\}/.exec(sample) ?? [];
    return scope === undefined || value === 0 ? [] : [scope];
  });

const ofWebhooks = (kinds: readonly string[]) =>
  kinds.filter((kind) => kind.startsWith('webhook_')).map((kind) => kind.replace('webhook_', ''));

/** Asks everybody. */
async function ask() {
  const webhook = await readApi();
  const standing: { kind: string; limit: string | null }[] = webhook.standing;
  const api: Said = {
    status: webhook.status,
    kinds: standing.map(({ kind }) => kind),
    circuit: webhook.health.circuit,
    pending: webhook.deliveries.pending,
  };
  const samples = await readGauges();
  const shown = await cli('webhooks', 'show', id);
  const facts = new Map(
    shown.stdout.split('\n').map((line) => {
      const [, name = '', value = ''] = /^(\S+(?: \S+)*) {2,}(.*)$/.exec(line) ?? [];
      return [name, value];
    }),
  );
  const listed = (await cli('webhooks', 'list', '--customer', subscriber.customerId)).stdout.split('\n');
  const status = JSON.parse((await cli('status', '--json')).stdout);
  const troubles = (
    status.troubles as { kind: string; scope: string; subject: { type: string } | null }[]
  ).filter(({ subject }) => subject?.type === 'webhook');
  const page = await readPage(`/ops/webhooks/${id}`);
  const row = /<tr[^>]*>(?:(?!<tr).)*?<\/tr>/gs;
  const list = (await readPage('/ops/webhooks'))
    .match(row)
    ?.find((it) => it.includes(`/ops/webhooks/${id}"`));
  const events = await query<{ type: string }>(
    'SELECT type FROM operational_events WHERE webhook_id = ? ORDER BY id',
    id,
  );
  return {
    api,
    limits: standing.map(({ limit }) => limit),
    shown: {
      status: facts.get('status')?.replace(/:.*/, ''),
      kinds: KINDS.filter((kind) => facts.has(kind)),
      circuit: facts.get('circuit')?.replace('-', '_'),
      pending: Number(facts.get('pending')),
    },
    metrics: {
      status: labelsOf(samples, 'webhooks', 'status'),
      circuits: labelsOf(samples, 'circuits', 'state'),
      kinds: ofWebhooks(labelsOf(samples, 'troubles', 'kind')),
      scopes: scopesOf(samples),
      pending: labelsOf(samples, 'pending_deliveries', 'state'),
    },
    verdict: {
      kinds: ofWebhooks(troubles.map(({ kind }) => kind)),
      scopes: troubles.map(({ scope }) => scope),
      circuitsOpen: status.circuits_open,
      pending: status.pending + status.held,
    },
    listed: /\s((?:active|paused|disabled)(?:, [\w -]+?)?) {2,}/.exec(listed[1] ?? '')?.[1],
    page: {
      tags: tagsOf(/<h1>.*?<\/h1>/s.exec(page)?.[0] ?? ''),
      lead: text(/<p class="lead">(.*?)<\/p>/s.exec(page)?.[1] ?? ''),
    },
    list: tagsOf(list ?? ''),
    events: events.map(({ type }) => type.replace('webhook.', '')),
  };
}

let told: string[] = [];

interface Expected {
  status?: 'active' | 'paused' | 'disabled';
  circuit?: string;
  kinds?: string[];
  pending?: number;
  /** The words in the lists, beside the status. Default: the kinds. */
  words?: string[];
  /** On the console's page. */
  lead: RegExp;
  /** What is reported, before or after the next look. */
  events?: string[];
  limits?: (string | null)[];
  /** Of its troubles. Default: endpoint. */
  scope?: 'installation';
}

/** Asks before and after the maintenance process looks at the webhook. */
async function expectAll(expected: Expected) {
  const { status = 'active', circuit = 'closed', kinds = [], pending = 0, lead, events = [] } = expected;
  const words = expected.words ?? kinds;
  const scopes = kinds.map(() => expected.scope ?? 'endpoint');
  const api = { status, kinds, circuit, pending };
  const isQuarantined = kinds.includes('quarantined');
  const pendingAs = status !== 'active' ? 'held' : kinds.includes('failing') ? 'failing' : 'healthy';
  const answer = {
    api,
    limits: expected.limits ?? kinds.map(() => null),
    shown: api,
    metrics: {
      status: [isQuarantined ? 'quarantined' : status],
      circuits: status === 'active' ? [circuit] : [],
      kinds,
      scopes,
      pending: pending === 0 ? [] : [pendingAs],
    },
    verdict: { kinds, scopes, circuitsOpen: status === 'active' && circuit === 'open' ? 1 : 0, pending },
    listed: [status, ...words.filter((word) => word !== status)].join(', '),
    page: { tags: words.length > 0 ? words : [status], lead: expect.stringMatching(lead) },
    list: words.length > 0 ? words : [status],
  };
  const { database } = service.runtime;
  expect(await ask()).toMatchObject(answer);
  await watchWebhooks(database);
  await reportFailingWebhooks(database);
  const after = await ask();
  expect(after).toMatchObject(answer);
  expect(after.events.slice(told.length)).toEqual(events);
  told = after.events;
}

/** Retries are made due by the steps. */
const HOUR = 3_600_000;
const delays = RETRY_DELAYS.map(() => HOUR);

/** Stores movements that are young. */
async function store(movements: number): Promise<void> {
  await subscriber.store(movements);
  await setAge(0);
}
const setAge = (seconds: number) =>
  query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL ? SECOND', seconds);

const answerWith = (status: number) =>
  receiver.answer('/', (_received, response) => response.writeHead(status).end());

/** A delivery process sends until this is so, and ends. */
async function send(what: string, isSo: (cursor: CursorRow) => boolean | Promise<boolean>): Promise<void> {
  await query('UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at IS NOT NULL', id);
  const worker = startDeliveryWorker(service.runtime, { delays });
  try {
    await wakeChangedWebhook(service.runtime, id);
    await until(what, async () => isSo(await cursorOf(service, id)));
  } finally {
    await worker.stop();
  }
}

/** How many deliveries have succeeded so far. */
let delivered = 0;
const sendAll = async (movements: number) => {
  delivered += movements;
  await send('everything is delivered', (it) => Number(it.delivered_count) === delivered);
};

const patch = (body: object) => service.call('PATCH', `/v1/webhooks/${id}`, { key: subscriber.key, body });
const press = (action: string) =>
  service.callOps('POST', `/ops/webhooks/${id}/${action}`, {
    body: '',
    type: 'application/x-www-form-urlencoded',
    headers: { Accept: 'text/html', Origin: service.opsUrl },
  });

const WELL = /^Its endpoint answers\. 0 deliveries are pending\./;
const enabled = () => expectAll({ lead: /^Its endpoint answers\./ });

describe('all who are asked about a webhook say the same', () => {
  it('new', () => expectAll({ lead: WELL }));

  it('after its first success, and when it is sent as many as it may', async () => {
    await store(1);
    await sendAll(1);
    await expectAll({ lead: WELL });
    await store(3);
    await sendAll(3);
    expect((await cursorOf(service, id)).recovery_successes).toBeNull();
    await expectAll({ lead: WELL });
  });

  it('failing', async () => {
    answerWith(500);
    await store(1);
    await send('an attempt has failed', (it) => it.consecutive_failures === 1);
    await expectAll({
      kinds: ['failing'],
      pending: 1,
      lead: /has been failing for .*, 1 delivery pending\..* Last error: answered 500\./,
    });
  });

  it('failing for more than half of the time until it is disabled', async () => {
    await setCursor(service, id, 'failing_since = NOW(6) - INTERVAL 3 DAY, failing_days = 4');
    await expectAll({
      kinds: ['failing'],
      pending: 1,
      lead: /has been failing for 3 d/,
      events: ['failing'],
    });
  });

  it('its circuit is open, and half-open', async () => {
    await store(2);
    await send('the circuit opens', (it) => it.circuit_openings === 1);
    // It would be over before all have been asked.
    await setCursor(service, id, 'circuit_open_until = NOW(6) + INTERVAL 10 MINUTE');
    const failing = {
      kinds: ['failing'],
      pending: 3,
      lead: /has been failing for .*, \d times in a row, 3 deliveries pending/,
    };
    await expectAll({ ...failing, circuit: 'open', words: ['circuit open'] });
    await setCursor(service, id, 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND');
    await expectAll({ ...failing, circuit: 'half_open' });
  });

  it('after the probe', async () => {
    answerWith(200);
    await sendAll(3);
    await expectAll({ lead: WELL });
  });

  it('a POST that was in flight has succeeded after its circuit opened, so that it does not fail', async () => {
    const OPENED = 'circuit_openings = 1, recovery_successes = 0, circuit_open_until = NOW(6) +';
    await store(2);
    await setCursor(service, id, `${OPENED} INTERVAL 1 HOUR, progressed_at = NOW(6) - INTERVAL 10 MINUTE`);
    const open = { circuit: 'open', pending: 2 };
    await expectAll({
      ...open,
      words: ['circuit open'],
      lead: /Its circuit is open\. The next attempt is in/,
    });
    await setAge(400);
    // More delivery processes would not help.
    await expectAll({
      ...open,
      kinds: ['behind'],
      limits: ['recovering'],
      lead: /is behind\..* It is sent more and more by itself\.$/,
      events: ['behind'],
    });
    await setAge(100);
    await expectAll({
      ...open,
      words: ['circuit open'],
      lead: /Its circuit is open\./,
      events: ['caught_up'],
    });
    await setCursor(service, id, `${OPENED} INTERVAL -1 SECOND`);
    await expectAll({
      circuit: 'half_open',
      pending: 2,
      words: ['half-open'],
      lead: /^Its endpoint answers\./,
    });
    await sendAll(2);
    await expectAll({ lead: WELL });
  });

  it('behind from five minutes on, until its oldest movement is younger than two and a half', async () => {
    await store(3);
    await setCursor(service, id, 'progressed_at = NOW(6), recovery_successes = 1');
    const well = { pending: 3, lead: /^Its endpoint answers\. 3 deliveries are pending\./ };
    const behind = { kinds: ['behind'], limits: ['recovering'], pending: 3, lead: /is behind\./ };
    await setAge(200);
    await expectAll(well);
    await setAge(400);
    await expectAll({ ...behind, events: ['behind'] });
    await setAge(200);
    await expectAll(behind);
    await setAge(100);
    await expectAll({ ...well, events: ['caught_up'] });
    await setAge(200);
    await expectAll(well);
    // Only a delivery process can help. This is a trouble of the installation.
    await setCursor(service, id, 'progressed_at = NOW(6) - INTERVAL 10 MINUTE');
    await setAge(400);
    await expectAll({
      ...behind,
      limits: ['processes'],
      scope: 'installation',
      lead: /Start more delivery processes/,
      events: ['behind'],
    });
  });

  it('caught up', async () => {
    await sendAll(3);
    await expectAll({ lead: WELL, events: ['caught_up'] });
  });

  it('flapping, while it answers and while it fails', async () => {
    const { database } = service.runtime;
    // It has recovered once already.
    for (const since of ['NOW(6)', 'NULL', 'NOW(6)', 'NULL']) {
      await setCursor(service, id, `failing_since = ${since}`);
      await watchWebhooks(database);
    }
    told.push('flapping');
    const flapping = { kinds: ['flapping'], lead: /is flapping/ };
    await expectAll(flapping);
    await setCursor(service, id, 'failing_since = NOW(6)');
    await expectAll(flapping);
    await setCursor(service, id, 'failing_since = NULL');
    await expectAll(flapping);
    // As an hour later.
    await query(
      `UPDATE webhook_standings SET changed_at = changed_at - INTERVAL 61 MINUTE, recovered_1 = recovered_1 - INTERVAL 61 MINUTE,
        recovered_2 = recovered_2 - INTERVAL 61 MINUTE, recovered_3 = recovered_3 - INTERVAL 61 MINUTE`,
    );
    await expectAll({ lead: WELL, events: ['stable'] });
  });

  it.each([
    [
      'its owner',
      () => patch({ status: 'paused' }),
      () => patch({ status: 'active' }),
      /^Its owner has paused it/,
    ],
    ['the console', () => press('pause'), () => press('enable'), /^127\.0\.0\.1 \(console\) has paused it/],
    [
      'the command line',
      () => cli('webhooks', 'pause', id),
      () => cli('webhooks', 'enable', id),
      /^\S+ \(command line\) has paused it/,
    ],
  ])('paused by %s, and enabled', async (_, pause, enable, lead) => {
    await store(1);
    await pause();
    await expectAll({ status: 'paused', pending: 1, lead });
    await enable();
    await expectAll({ pending: 1, lead: /^Its endpoint answers\. 1 delivery is pending\./ });
    await sendAll(1);
    await enabled();
  });

  it('quarantined because its runs keep ending their process, and enabled', async () => {
    await store(1);
    await setCursor(service, id, 'crash_count = 10');
    await send('it is paused', async () => (await readApi()).status === 'paused');
    await expectAll({
      status: 'paused',
      kinds: ['quarantined'],
      scope: 'installation',
      pending: 1,
      lead: /is paused: Its delivery runs have ended without a result 10 times in a row/,
      events: ['quarantined'],
    });
    documentOf(await cli('webhooks', 'enable', id, '--json'));
    await expectAll({ pending: 1, lead: /^Its endpoint answers\. 1 delivery is pending\./ });
    await sendAll(1);
    await enabled();
  });

  it('disabled by a 410, and enabled', async () => {
    answerWith(410);
    await store(1);
    await send('it is disabled', async () => (await readApi()).status === 'disabled');
    const { health, deliveries } = await readApi();
    const { pending } = deliveries;
    await expectAll({
      status: 'disabled',
      kinds: ['disabled'],
      circuit: health.circuit,
      pending,
      lead: /is disabled: .*410/,
      events: ['disabled'],
    });
    answerWith(200);
    await patch({ status: 'active' });
    await expectAll({ pending, lead: /^Its endpoint answers\./ });
    await sendAll(pending);
    await enabled();
  });
});
