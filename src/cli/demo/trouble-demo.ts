import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { zipSync } from 'fflate';
import { formatCount } from '../../platform/text.ts';
import { clearDataDir } from '../../servers/embedded.ts';
import type { Service } from '../../service.ts';
import { SourceAnswer } from '../commands/sources.ts';
import { WebhookAnswer } from '../commands/webhooks.ts';
import { Failure } from '../context.ts';
import { ImportAnswer } from '../import-progress.ts';
import { continueUnless, type DemoOptions, showPages, startOnSomePort, waitForCtrlC } from './demo.ts';
import {
  type Addressee,
  type BankMonth,
  createDemoCustomer,
  type DemoCustomer,
  type ExampleMovement,
  readBankMonth,
  readStatement,
  renderNdjson,
  type Statement,
} from './demo-customer.ts';
import type { Screen } from './screen.ts';
import { answerSlowly, flap, type Subscriber, type Subscription, startSubscriber } from './subscriber.ts';

/** The part of the demo that makes trouble: imports that continue, endpoints that fail, and what an operator sees of it. */

const INTERVAL = 1_000;

/** A customer, and the ids of its accounts by the example's `ref`. */
export interface TrafficCustomer {
  customer: DemoCustomer;
  accountIds: ReadonlyMap<string, string>;
}

/**
 * Imports one movement for each customer every second, until `signal` is aborted. Continues during outages, like a persistent client.
 */
export async function keepImporting(
  customers: readonly TrafficCustomer[],
  movements: readonly ExampleMovement[],
  signal: AbortSignal,
): Promise<void> {
  for (let number = 1; !signal.aborted; number += 1) {
    const movement = movements[number % movements.length];
    if (movement === undefined) throw new Error('The example statement is empty.');
    await Promise.all(
      customers.map(({ customer: { api }, accountIds }) => {
        const account_id = accountIds.get(movement.account_id);
        const transactions = [{ ...movement, account_id, unique_id: `TRAFFIC-${number}` }];
        return api.post('/v1/imports', { transactions }, ImportAnswer).catch(ignoreOutage);
      }),
    );
    await sleep(INTERVAL, undefined, { signal }).catch(() => {});
  }
}

function ignoreOutage(error: unknown): void {
  if (!(error instanceof Failure)) throw error;
}

/** Something that the demo has set up, and that an operator can see. */
export interface Sight {
  name: string;
  /** The command that shows it, without `ledgerbell`. */
  command: string;
  /** The page of the console that shows it. */
  page: string;
  /** @returns what the API shows of it; null: nothing yet. */
  find(): Promise<string | null>;
}

/** A customer of the demo with trouble. */
export interface PlannedCustomer {
  name: string;
  webhooks: readonly PlannedWebhook[];
}

/** A webhook of the demo with trouble. */
export interface PlannedWebhook extends Subscription {
  endpoint: 'healthy' | 'dead' | 'slow' | 'flapping';
}

/** The port of the discard service (RFC 863). Nothing listens there, because hardly any machine has this service. */
export const DEAD_URL = 'http://127.0.0.1:9/';

/** With this many pending deliveries, an endpoint does not keep up. */
const BACKLOG = 5;

/**
 * Creates the webhooks of a customer, each with its receiver.
 * @param onReceiver gets each receiver that was started, so that it can be closed.
 * @returns the sights of the webhooks.
 */
export async function createTroubleWebhooks(
  customer: DemoCustomer,
  { name, webhooks }: PlannedCustomer,
  accountIds: ReadonlyMap<string, string>,
  onReceiver: (receiver: Subscriber) => void,
): Promise<Sight[]> {
  const sights: Sight[] = [];
  for (const planned of webhooks) {
    const addressee = await findAddressee(planned, onReceiver);
    const id = await customer.subscribe(addressee, accountIds);
    sights.push(createSight(customer, name, planned, id));
  }
  return sights;
}

async function findAddressee(
  planned: PlannedWebhook,
  onReceiver: (receiver: Subscriber) => void,
): Promise<Addressee> {
  if (planned.endpoint === 'dead') return { subscription: planned, url: DEAD_URL, learn: () => {} };
  const receiver = await startSubscriber(planned);
  onReceiver(receiver);
  return receiver;
}

const DESCRIPTIONS = {
  healthy: 'healthy endpoint',
  dead: 'dead endpoint',
  slow: 'slow endpoint',
  flapping: 'flapping endpoint',
} as const;

function createSight(
  { api }: DemoCustomer,
  owner: string,
  { title, endpoint }: PlannedWebhook,
  id: string,
): Sight {
  /** How many deliveries had succeeded when the endpoint failed. */
  let deliveredBefore: number | null = null;
  return {
    name: DESCRIPTIONS[endpoint],
    command: `webhooks show ${id}`,
    page: `/ops/webhooks/${id}`,
    async find() {
      const { webhook } = await api.get(`/v1/webhooks/${id}`, WebhookAnswer);
      const { last_error: error } = webhook.health;
      const { pending, delivered } = webhook.deliveries;
      const of = `${title} of ${owner}`;
      const counts = `${formatCount(delivered)} delivered, ${formatCount(pending)} pending`;
      switch (endpoint) {
        case 'healthy':
          return error === null && delivered > 0 && pending < BACKLOG ? `${of}: ${counts}` : null;
        case 'dead':
          return error === null ? null : `${of}: ${error}, ${counts}`;
        case 'slow':
          return error === null && delivered > 0 && pending >= BACKLOG ? `${of}: no error, ${counts}` : null;
        case 'flapping':
          if (error !== null) deliveredBefore ??= delivered;
          return error === null && deliveredBefore !== null && delivered > deliveredBefore
            ? `${of}: failed and works again, ${counts}`
            : null;
      }
    },
  };
}

const FOLDER = 'inbox';

/** Sends a zip whose second file is cut off. The statement in the first file is stored, and then the import fails. */
export async function sendFailingImport({ api }: DemoCustomer, { mt940 }: BankMonth): Promise<Sight> {
  const body = Buffer.from(
    // Its second file is cut off.
    zipSync({ 'november.sta': mt940, 'december.sta': mt940 }, { level: 0 }).subarray(0, -mt940.length / 2),
  );
  const upload = { type: 'application/octet-stream', bytes: body.length, body };
  const { import: accepted } = await api.upload('/v1/imports?create_accounts=true', upload, ImportAnswer);
  return {
    name: 'failed import',
    command: `imports show ${accepted.id}`,
    page: `/ops/imports/${accepted.id}`,
    async find() {
      const { status, error } = (await api.get(`/v1/imports/${accepted.id}`, ImportAnswer)).import;
      return status === 'failed' ? error : null;
    },
  };
}

/** Creates a source whose server cannot be reached. */
export async function createFailingSource({ api }: DemoCustomer): Promise<Sight> {
  const { source } = await api.post(
    '/v1/sources',
    {
      title: 'Statements of the bank',
      kind: 'http',
      settings: { url: `${DEAD_URL}statements/today.sta` },
      schedule: { every: '30s' },
    },
    SourceAnswer,
  );
  return {
    name: 'failing source',
    command: `sources show ${source.id}`,
    page: `/ops/sources/${source.id}`,
    async find() {
      return (await api.get(`/v1/sources/${source.id}`, SourceAnswer)).source.error;
    },
  };
}

/** Creates a source that collects a folder with one file in it. */
export async function createHealthySource(
  { id, api }: DemoCustomer,
  { mt940, movements }: BankMonth,
  sourcesDir: string,
): Promise<Sight> {
  const folder = join(sourcesDir, id, FOLDER);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'november.sta'), mt940);
  const { source } = await api.post(
    '/v1/sources',
    {
      title: 'Statements folder',
      kind: 'folder',
      settings: { path: FOLDER },
      schedule: { every: '10s' },
      create_accounts: true,
    },
    SourceAnswer,
  );
  return {
    name: 'healthy source',
    command: `sources show ${source.id}`,
    page: `/ops/sources/${source.id}`,
    async find() {
      const shown = (await api.get(`/v1/sources/${source.id}`, SourceAnswer)).source;
      const isDone = shown.last_run_at !== null && !shown.is_running && shown.error === null;
      return isDone ? `no error, ${formatCount(movements.length)} movements in its file` : null;
    },
  };
}

/**
 * Sets up a dead, a slow and a flapping endpoint, a failing import and a failing source beside healthy ones. Imports a movement every
 * second, and waits until the API shows all of this. Begins with an empty DATA_DIR.
 * @returns whether the API showed all of this in time.
 * @throws {Error} with one sentence when the service cannot be started, or when `signal` is aborted before the end.
 */
export async function runTroubleDemo(options: DemoOptions): Promise<boolean> {
  const { config, screen, signal } = options;
  screen.title(
    'Ledgerbell with real trouble, to look at with the console, the metrics and the command line.',
  );
  await clearDataDir(config.dataDir);
  const service = await startOnSomePort(options);
  const subscribers: Subscriber[] = [];
  const ending = new AbortController();
  let traffic = Promise.resolve();
  try {
    continueUnless(signal);
    screen.done(`Service with its own MySQL and Redis started: ${service.url}, data in ${config.dataDir}`);
    const statement = await readStatement();
    const { sights, customers } = await setUp(service, statement, subscribers);
    screen.done(
      `${customers.length} customers, ${subscribers.length} receivers, a movement every second for each customer`,
    );
    traffic = keepImporting(customers, statement.movements, ending.signal);
    screen.line();
    const succeeded = await watchSights(sights, { screen, signal });
    screen.line();
    if (options.once) screen.line('Without --once the demo stays up, and you can look at all of this.');
    else await stayUp(options, service);
    return succeeded;
  } finally {
    ending.abort();
    await traffic;
    await service.stop();
    for (const subscriber of subscribers) await subscriber.close();
  }
}

/** Sets up everything. @param subscribers receives each receiver that was started. */
async function setUp(
  service: Service,
  statement: Statement,
  subscribers: Subscriber[],
): Promise<{ sights: Sight[]; customers: TrafficCustomer[] }> {
  const { sourcesDir } = service.runtime.config;
  if (sourcesDir === undefined) throw new Error('The demo has no SOURCES_DIR.');
  const sights: Sight[] = [];
  async function add(planned: PlannedCustomer): Promise<TrafficCustomer> {
    const customer = await createDemoCustomer(service, planned.name);
    const accountIds = await customer.addAccounts(statement.accounts);
    const onReceiver = (receiver: Subscriber) => void subscribers.push(receiver);
    sights.push(...(await createTroubleWebhooks(customer, planned, accountIds, onReceiver)));
    await sendStatement(customer, renderNdjson(statement.movements, accountIds));
    return { customer, accountIds };
  }
  const withSources = await add(WITH_SOURCES);
  const withImport = await add(WITH_IMPORT);
  const month = await readBankMonth();
  sights.push(
    await sendFailingImport(withImport.customer, month),
    await createFailingSource(withSources.customer),
    await createHealthySource(withSources.customer, month, sourcesDir),
  );
  return { sights, customers: [withSources, withImport] };
}

/** Does not wait for the import, because the importer stores the statement while the rest is set up. */
const sendStatement = ({ api }: DemoCustomer, body: Buffer) =>
  api.upload('/v1/imports', { type: 'application/x-ndjson', bytes: body.length, body }, ImportAnswer);

async function stayUp({ config, screen, signal }: DemoOptions, service: Service): Promise<void> {
  showPages(screen, service);
  screen.line(`Metrics  ${service.opsUrl}/metrics`);
  screen.line();
  screen.line('They need no password on this machine. From another one, open a tunnel:');
  screen.line();
  screen.line(`ssh -L ${portOf(service.opsUrl)}:127.0.0.1:${portOf(service.opsUrl)} HOST`);
  screen.line();
  screen.line('The pages above are those of the console. The commands, in another terminal:');
  screen.line();
  screen.line(`export DATA_DIR='${resolve(config.dataDir)}' ALLOW_PRIVATE_ENDPOINTS=127.0.0.0/8`);
  screen.line('ledgerbell status      # in a clone: npm run --silent cli -- status');
  screen.line();
  await waitForCtrlC(screen, signal);
}

const portOf = (url: string): string => new URL(url).port;

const plan = (
  title: string,
  endpoint: PlannedWebhook['endpoint'],
  more: Partial<Subscription> = {},
): PlannedWebhook => ({
  title,
  endpoint,
  event: 'NEW_TRANSACTION',
  accountRef: null,
  encoding: 'json',
  ...more,
});

/** The titles do not say which webhooks are in trouble, because the user of the demo is to find that out. */
const WITH_SOURCES: PlannedCustomer = {
  name: 'Kardelen Market',
  webhooks: [plan('Accounting', 'healthy'), plan('Treasury', 'dead')],
};

const WITH_IMPORT: PlannedCustomer = {
  name: 'Boğaz Lojistik',
  webhooks: [
    plan('Warehouse', 'healthy'),
    plan('Cash desk', 'slow', { maxInFlight: 1, behaviour: answerSlowly }),
    plan('Mobile app', 'flapping', { behaviour: flap }),
  ],
};

const SECOND = 1_000;
const POLL_INTERVAL = SECOND / 4;
/** How long the demo waits until everything can be seen. On a quiet machine it takes about half a minute. */
const TIME_LIMIT = 120 * SECOND;

/**
 * Waits until all sights can be seen, for at most two minutes, and prints a line for each.
 * @returns whether all sights were seen.
 * @throws {Failure} when `signal` is aborted.
 */
export async function watchSights(
  sights: readonly Sight[],
  {
    screen,
    signal,
    timeLimit = TIME_LIMIT,
  }: { screen: Screen; signal: AbortSignal /** In milliseconds. */; timeLimit?: number },
): Promise<boolean> {
  const deadline = performance.now() + timeLimit;
  const width = (of: 'name' | 'command' | 'page') => Math.max(...sights.map((sight) => sight[of].length));
  const line = ({ name, command, page }: Sight, text: string) =>
    `${name.padEnd(width('name'))}  ${command.padEnd(width('command'))}  ${page.padEnd(width('page'))}  ${text}`;
  let missing = [...sights];
  while (missing.length > 0 && performance.now() < deadline) {
    const found = await Promise.all(missing.map((sight) => sight.find()));
    for (const [at, text] of found.entries()) {
      const sight = missing[at];
      if (sight !== undefined && text !== null) screen.done(line(sight, text));
    }
    missing = missing.filter((_, at) => found[at] === null);
    if (missing.length === 0) return true;
    const waiting = `waiting until the API shows: ${missing.map(({ name }) => name).join(', ')}`;
    screen.live(waiting, 'waiting until the API shows everything (about half a minute)');
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure('Interrupted.');
    });
  }
  for (const sight of missing) screen.failed(line(sight, 'not seen in time'));
  return missing.length === 0;
}
