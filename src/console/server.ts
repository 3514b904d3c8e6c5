import { Hono } from 'hono';
import { getProblem } from '../api/docs-pages.ts';
import { getHealthRoute, getReadinessRoute } from '../api/health.ts';
import type { Role, Runtime } from '../database/runtime.ts';
import { type ApiEnv, answerUnrouted, createBaseApp } from '../http/app.ts';
import { PortTakenError, startServer } from '../http/listener.ts';
import { VERSION } from '../platform/config.ts';
import { refuseForeignPages, requireOperator } from './listener/access.ts';
import { opsConsole } from './listener/console.ts';
import { metricsPage } from './metrics/metrics-page.ts';
import type { Now, Poller } from './now/now-reader.ts';
import { watchInstallation } from './now/now-routes.tsx';
import type { OtherProcesses } from './process-metrics.ts';
import { DASHBOARD_PATH, queueDashboard } from './queues/dashboard.ts';

const LAST_PORT = 65_535;

/** The operators' listener. */
export interface OpsListener extends Role {
  url: string;
  /** From now on, answers from other connections, with other settings. */
  use(runtime: Runtime): void;
}

/**
 * Starts the operators' listener. It is separate from the API's, so that a proxy in front of the API cannot show its pages.
 * Without OPS_PORT it takes the port after PORT or, if that is taken (for example by another process of the service), any free port.
 * @param others the processes of this supervisor. A process on its own has none.
 * @throws {PortTakenError} when OPS_PORT is set and taken.
 */
export async function startOps(runtime: Runtime, others?: OtherProcesses): Promise<OpsListener> {
  const { opsHost, opsPort, port } = runtime.config;
  let watched = watchInstallation(runtime);
  let app = createOpsApp(runtime, watched, others);
  const fetch: typeof app.fetch = (...request) => app.fetch(...request);
  const listen = async (on: number): Promise<OpsListener> => {
    const server = await startServer(fetch, { name: 'ops', variable: 'OPS_PORT', host: opsHost, port: on });
    return {
      ...server,
      use(other) {
        watched.close();
        watched = watchInstallation(other);
        app = createOpsApp(other, watched, others);
      },
      stop() {
        // Open pages that receive updates would keep their connections open.
        watched.close();
        return server.stop();
      },
    };
  };
  if (opsPort !== undefined) return listen(opsPort);
  if (port === 0 || port === LAST_PORT) return listen(0);
  try {
    return await listen(port + 1);
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error;
    return listen(0);
  }
}

/**
 * Creates the app of the operators' listener. Only the health checks and the explanations of errors need no password.
 * @param watched reads the installation for the page Now.
 */
function createOpsApp(
  runtime: Runtime,
  watched: Poller<Now>,
  others: OtherProcesses | undefined,
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
  app.route('/ops', opsConsole(runtime, watched));
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
