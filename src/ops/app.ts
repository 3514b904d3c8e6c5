import type { Hono } from 'hono';
import { getHealth, getReadiness } from '../api/health.ts';
import { getProblem } from '../api/problem-pages.ts';
import { answerUnrouted, createBaseApp } from '../http/base-app.ts';
import type { ApiEnv } from '../http/environment.ts';
import type { Runtime } from '../runtime.ts';
import { refuseForeignPages, requireOperator } from './access.ts';
import type { Now } from './console/now-reader.ts';
import type { Poller } from './console/poller.ts';
import { opsConsole } from './console.ts';
import { DASHBOARD_PATH, queueDashboard } from './dashboard.ts';
import { metricsPage } from './metrics/metrics-page.ts';

/**
 * Creates the app of the operators' listener. Only the health checks and the explanations of errors are open to everybody.
 * @param watched reads the installation for the page Now.
 */
export function createOpsApp(runtime: Runtime, watched: Poller<Now>): Hono<ApiEnv> {
  const app = createBaseApp(runtime);
  app.get('/healthz', ...getHealth());
  app.get('/readyz', ...getReadiness(runtime));
  app.get('/problems/:name', ...getProblem());

  // Hono runs middleware for the routes that are added after it: everything below is for operators only.
  app.use(requireOperator(runtime), refuseForeignPages);
  app.get('/', (c) => c.redirect('/ops'));
  app.get('/ops/', (c) => c.redirect('/ops'));
  app.get(`${DASHBOARD_PATH}/`, (c) => c.redirect(DASHBOARD_PATH));
  app.route(DASHBOARD_PATH, queueDashboard(runtime));
  app.route('/ops', opsConsole(runtime, watched));
  app.route('/metrics', metricsPage(runtime));

  answerUnrouted(app);
  return app;
}
