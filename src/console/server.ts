import { timingSafeEqual } from 'node:crypto';
import { Hono } from 'hono';
import { every, except } from 'hono/combine';
import { getHealthRoute, getReadinessRoute } from '../api/health.ts';
import { getProblem } from '../api/problem-page.ts';
import { within } from '../database/health.ts';
import type { Role, Runtime } from '../database/runtime.ts';
import { createQuota, tooManyRequests } from '../http/admission.ts';
import {
  type ApiEnv,
  answerUnrouted,
  createBaseApp,
  createMiddleware,
  isFromThisMachine,
  nameClient,
  pageHeaders,
} from '../http/app.ts';
import { type Fetch, PortTakenError, startServer } from '../http/listener.ts';
import { type Config, findPlainTextHost, isLoopback, VERSION } from '../platform/config.ts';
import type { Poller } from '../platform/poller.ts';
import { Problem } from '../platform/problem.ts';
import { stopTogether } from '../platform/stopping.ts';
import { digestOf } from '../platform/tokens.ts';
import { LAST_PORT } from '../platform/whole-numbers.ts';
import { plainTextTrouble } from '../verdict/servers.ts';
import { READ_LIMIT } from '../verdict/verdict.ts';
import { auditPage } from './audit/audit-page.tsx';
import { accountPage } from './books/account-page.tsx';
import { booksRoutes } from './books/books-routes.tsx';
import { customerPage } from './customers/customer-page.tsx';
import { deliveriesPage, deliveryRoutes, replayRoutes } from './deliveries/deliveries-page.tsx';
import { importRoutes, importsPage } from './imports/imports-page.tsx';
import { metricsPage } from './metrics/metrics-page.ts';
import { movementsPage } from './movements/movements-page.tsx';
import { nowRoutes, watchInstallation } from './now/now-page.tsx';
import type { Now } from './now/now-reader.ts';
import { type FindApi, passOn } from './operators-api.ts';
import { answerErrorPage, consoleAssets } from './page/layout.tsx';
import { type ConsoleContext, createConsoleContext } from './page/operator.ts';
import { inChosenZone, zoneRoute } from './page/zone.ts';
import type { OtherProcesses } from './process-metrics.ts';
import { DASHBOARD_PATH, queueDashboard } from './queues/dashboard.ts';
import { sourceRoutes } from './sources/source-page.tsx';
import { sourcesPage } from './sources/sources-page.tsx';
import { templateRoutes } from './templates/template-page.tsx';
import { tracePage } from './trace/trace-page.tsx';
import { webhookRoutes } from './webhooks/webhook-page.tsx';
import { webhooksPage } from './webhooks/webhooks-page.tsx';
import { withdrawRoutes } from './withdrawals/withdraw-page.tsx';

/** The server of the console: who may use it, and its pages. */

type Admin = NonNullable<Config['admin']>;

/** Wrong passwords that one client may send in a minute. */
const GUESSES = 10;
const WINDOW_SECONDS = 60;

/**
 * Lets operators through. Asks for ADMIN_USER and ADMIN_PASSWORD (basic auth). If they are not set, only this machine has access, and
 * only with the password that the process has made, because a proxy on this machine may forward requests from anywhere. Prometheus on
 * this machine needs no password for the metrics.
 */
export function requireOperator({ config, redis, prefix }: Pick<Runtime, 'config' | 'redis' | 'prefix'>) {
  const { admin } = config;
  if (admin === undefined) return requireLoopback;
  const asksForPassword = requirePassword(admin, { redis, prefix });
  return admin.isOneTime ? every(requireLoopback, except('/metrics', asksForPassword)) : asksForPassword;
}

/** Refuses requests that are not from this machine. */
const requireLoopback = createMiddleware(async (c, next) => {
  if (!isFromThisMachine(c)) {
    throw new Problem(
      'forbidden',
      'This page answers only requests from the machine itself. To use it from elsewhere, set ADMIN_USER and ADMIN_PASSWORD.',
    );
  }
  await next();
});

/**
 * Asks for the password. A client that has sent ten wrong passwords within a minute is answered 429 until the minute is over. The
 * password is not compared during that time, so that a correct guess looks like a wrong one. As with API keys, all processes share the
 * count, and a client is an IPv4 address or an IPv6 /64.
 */
function requirePassword(
  { user, password, isOneTime }: Admin,
  { redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>,
) {
  const expected = digestOf(`${user}:${password}`);
  const wrongPasswords = createQuota({
    redis,
    prefix: `${prefix}:passwords`,
    limit: GUESSES,
    windowSeconds: WINDOW_SECONDS,
  });
  return createMiddleware(async (c, next) => {
    const header = c.req.header('authorization');
    // A browser asks its user only after a 401, so a request without a password is not a guess.
    if (header === undefined) throw unauthenticated(isOneTime);
    const client = nameClient(c.get('clientAddress'));
    const left = wrongPasswords.look(client);
    if (left.exhausted) {
      throw tooManyRequests(
        'too-many-passwords',
        left,
        `${GUESSES} wrong passwords came from this address within a minute.`,
      );
    }
    const [, encoded = ''] = /^Basic\s+(\S+)$/i.exec(header) ?? [];
    // Digests have equal lengths, as timingSafeEqual requires.
    if (!timingSafeEqual(digestOf(Buffer.from(encoded, 'base64').toString('utf8')), expected)) {
      wrongPasswords.take(client);
      throw unauthenticated(isOneTime);
    }
    await next();
  });
}

const unauthenticated = (isOneTime = false) =>
  new Problem(
    'unauthenticated',
    isOneTime
      ? 'Sign in as admin with the password that this process printed when it started.'
      : 'Sign in with the name and password that the operator has set.',
    { headers: { 'WWW-Authenticate': 'Basic realm="Ledgerbell operations", charset="UTF-8"' } },
  );

/**
 * Refuses changes that a page of another site requests through the operator's browser (CSRF). The browser would send the password
 * along. Without a password, any page could send requests to this machine. Browsers send `Origin` with every request that is not GET or
 * HEAD, and on secure pages also `Sec-Fetch-Site`. Programs that are not browsers send neither.
 */
export const refuseForeignPages = createMiddleware(async (c, next) => {
  const origin = c.req.header('origin');
  const foreign =
    origin !== undefined &&
    URL.parse(origin)?.host !== c.req.header('host') &&
    c.req.header('sec-fetch-site') !== 'same-origin';
  if (foreign && c.req.method !== 'GET' && c.req.method !== 'HEAD') {
    throw new Problem('forbidden', 'A page of another site may not change anything here.');
  }
  await next();
});

/**
 * Ends a page that MySQL does not answer in time. A change may take longer, and is never cut off. Three pages come before. The reading of the
 * page Now has limits of its own, and says what is wrong with MySQL. A search for movements may look at 200,000 of them. So may the dry run of a withdrawal, at 100,000.
 */
const endSlowReads = createMiddleware(async (c, next) => {
  if (c.req.method !== 'GET') return next();
  const isDone = await within(
    next().then(() => true),
    READ_LIMIT,
    () => false,
  );
  if (!isDone)
    throw new Problem('database-unavailable', 'MySQL does not answer: the page was not read within 3 s.');
});

/** /ops: the console. The server renders its pages. They load nothing from other hosts. */
export function opsConsole(context: ConsoleContext, watched: Poller<Now>): Hono<ApiEnv> {
  const { runtime } = context;
  const app = new Hono<ApiEnv>();
  app.onError((error, c) => answerErrorPage(error, c, runtime.log));
  return app
    .use(pageHeaders())
    .use(inChosenZone(runtime.config.zone))
    .route('/assets', consoleAssets())
    .route('/zone', zoneRoute())
    .route('/', nowRoutes(watched))
    .route('/movements', movementsPage(context))
    .route('/', withdrawRoutes(context))
    .use(endSlowReads)
    .route('/webhooks', webhooksPage(runtime))
    .route('/webhooks', webhookRoutes(context))
    .route('/webhooks', replayRoutes(context))
    .route('/templates', templateRoutes(context))
    .route('/deliveries', deliveriesPage(runtime))
    .route('/deliveries', deliveryRoutes(context))
    .route('/imports', importsPage(runtime))
    .route('/imports', importRoutes(context))
    .route('/sources', sourcesPage(runtime))
    .route('/sources', sourceRoutes(context))
    .route('/customers', customerPage(runtime))
    .route('/books', booksRoutes(context))
    .route('/books/accounts', accountPage(runtime))
    .route('/trace', tracePage(context))
    .route('/audit', auditPage(runtime));
}

/** The operators' listener. */
export interface OpsListener extends Role {
  url: string;
  /** Where the commands of this machine reach the API: a listener of its own, unless this one is on loopback, without TLS. */
  commandsUrl: string;
  /** From now on, answers from other connections, with other settings. New connections get the certificate of these settings. */
  use(runtime: Runtime): void;
}

/** The paths of the operators' API. All others are those of the console. */
const OF_API = /^\/(?:v1|docs)(?:\/|$)|^\/openapi\.json$/;

/**
 * Starts the operators' listener. It is separate from the API's, so that a proxy in front of the API cannot show its pages.
 * Without OPS_PORT it takes the port after PORT or, if that is taken (for example by another process of the service), any free port.
 * Logs a warning if passwords reach it from other machines in plain text.
 * @param findApi where the requests to the API are passed on to.
 * @param others the processes of this supervisor. A process on its own has none.
 * @throws {PortTakenError} when OPS_PORT is set and taken.
 */
export async function startOps(
  runtime: Runtime,
  findApi: FindApi,
  others?: OtherProcesses,
): Promise<OpsListener> {
  const { opsHost, opsPort, opsTls, port, keepAlive } = runtime.config;
  warnOfPlainText(runtime);
  let watched = watchInstallation(runtime);
  let app = createOpsApp(runtime, { watched, findApi, others });
  let operatorsApi = passOn(runtime, findApi);
  const fetch: Fetch = (request, env) => {
    const { pathname } = new URL(request.url);
    return OF_API.test(pathname) ? operatorsApi(request, env) : app.fetch(request, env);
  };
  const listen = async (on: number): Promise<OpsListener> => {
    const server = await startServer(fetch, {
      name: 'ops',
      variable: 'OPS_PORT',
      host: opsHost,
      port: on,
      keepAlive,
      tls: opsTls,
    });
    return {
      ...server,
      commandsUrl: server.url,
      use(other) {
        watched.close();
        watched = watchInstallation(other);
        app = createOpsApp(other, { watched, findApi, others });
        operatorsApi = passOn(other, findApi);
        if (other.config.opsTls !== undefined) server.renewTls(other.config.opsTls);
      },
      stop() {
        // Open pages that receive updates would keep their connections open.
        watched.close();
        return server.stop();
      },
    };
  };
  const listenSomewhere = async (): Promise<OpsListener> => {
    if (opsPort !== undefined) return listen(opsPort);
    if (port === 0 || port === LAST_PORT) return listen(0);
    try {
      return await listen(port + 1);
    } catch (error) {
      if (!(error instanceof PortTakenError)) throw error;
      return listen(0);
    }
  };
  const ops = await listenSomewhere();
  if (isPlainLoopback(ops.url)) return ops;
  try {
    const forCommands = await startServer((request, env) => operatorsApi(request, env), {
      ...{ name: 'commands', variable: 'OPS_PORT', host: '127.0.0.1', port: 0, keepAlive },
    });
    return { ...ops, commandsUrl: forCommands.url, stop: () => stopTogether([forCommands.stop, ops.stop]) };
  } catch (error) {
    await ops.stop();
    throw error;
  }
}

/** Whether commands of this machine can use a listener with their token, which crosses no network, and needs no certificate. */
function isPlainLoopback(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, ''));
}

function warnOfPlainText({ config, log }: Pick<Runtime, 'config' | 'log'>): void {
  const host = findPlainTextHost(config);
  if (host === null) return;
  const { sentence, help } = plainTextTrouble(host);
  log.warn(`${sentence} ${help}`);
}

/**
 * Creates the app of the operators' listener. Only the health checks and the explanations of errors need no password.
 * @param watched reads the installation for the page Now.
 */
function createOpsApp(
  runtime: Runtime,
  {
    watched,
    findApi,
    others,
  }: { watched: Poller<Now>; findApi: FindApi; others: OtherProcesses | undefined },
): Hono<ApiEnv> {
  const app = createBaseApp(runtime);
  if (others === undefined) app.get('/healthz', ...getHealthRoute());
  else app.route('/healthz', processesHealth(others));
  app.get('/readyz', ...getReadinessRoute(runtime));
  app.get('/problems/:name', ...getProblem());

  // Hono runs middleware only for routes that are added after it, so all routes below are for operators only.
  app.use(requireOperator(runtime), refuseForeignPages);
  app.get('/', (c) => c.redirect('/ops'));
  app.get('/ops/', (c) => c.redirect('/ops'));
  app.get(`${DASHBOARD_PATH}/`, (c) => c.redirect(DASHBOARD_PATH));
  app.route(DASHBOARD_PATH, queueDashboard(runtime));
  app.route('/ops', opsConsole(createConsoleContext(runtime, findApi), watched));
  app.route('/metrics', metricsPage(runtime, others));

  answerUnrouted(app);
  return app;
}

/** GET /healthz of a supervisor: 200 when all its processes answer, otherwise 503 with the names of the others. */
function processesHealth(others: OtherProcesses): Hono<ApiEnv> {
  return new Hono<ApiEnv>().get('/', async (c) => {
    const processes = await others.readHealth();
    const ok = processes.every(({ status }) => status === 'ok');
    return c.json({ status: ok ? 'ok' : 'not ok', version: VERSION, processes }, ok ? 200 : 503);
  });
}
