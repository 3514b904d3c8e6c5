import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clearDataDir } from '../../servers/embedded.ts';
import type { Service } from '../../service.ts';
import { Failure } from '../failure.ts';
import { ImportAnswer } from '../import-progress.ts';
import { readBankMonth, readStatement, renderNdjson, type Statement } from './bank-files.ts';
import { continueUnless, type DemoOptions, showPages, startOnSomePort, waitForCtrlC } from './demo.ts';
import { createDemoCustomer, type DemoCustomer } from './demo-customer.ts';
import type { Screen } from './screen.ts';
import { answerSlowly, flap, type Subscriber, type Subscription } from './subscriber.ts';
import { keepImporting, type TrafficCustomer } from './traffic.ts';
import { createFailingSource, createHealthySource, sendFailingImport } from './trouble-files.ts';
import {
  createTroubleWebhooks,
  type PlannedCustomer,
  type PlannedWebhook,
  type Sight,
} from './trouble-webhooks.ts';

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
