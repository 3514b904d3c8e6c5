import { resolve } from 'node:path';
import { ImportAnswer } from '../cli/import-follow.ts';
import { clearDataDir } from '../embedded/clear.ts';
import type { Service } from '../service.ts';
import { readBankMonth } from './bank-month.ts';
import { continueUnless, type DemoOptions, showPages, startOnSomePort, waitForCtrlC } from './demo.ts';
import { createDemoCustomer, type DemoCustomer } from './demo-customer.ts';
import { readStatement, renderNdjson, type Statement } from './example-statement.ts';
import type { Subscriber } from './subscriber.ts';
import { keepImporting, type TrafficCustomer } from './traffic.ts';
import { createFailingSource, createHealthySource, sendFailingImport } from './trouble-files.ts';
import { type PlannedCustomer, WITH_IMPORT, WITH_SOURCES } from './trouble-plan.ts';
import { type Sight, watchSights } from './trouble-watch.ts';
import { createTroubleWebhooks } from './trouble-webhooks.ts';

/**
 * Sets up a dead, a slow and a flapping endpoint, a failing import and a failing source beside healthy ones, with a movement every
 * second, and waits until all of it can be seen. Begins with an empty DATA_DIR.
 * @returns whether all of it was seen.
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

/** Sets everything up. @param subscribers is given each receiver that was started. */
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

/** Not followed to its end: the importer stores it while the rest is set up. */
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
  screen.line('npm run --silent cli -- status');
  screen.line();
  await waitForCtrlC(screen, signal);
}

const portOf = (url: string): string => new URL(url).port;
