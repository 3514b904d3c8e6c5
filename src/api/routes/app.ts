import type { Hono, MiddlewareHandler } from 'hono';
import type { Runtime } from '../../database/runtime.ts';
import { type Feeds, openFeeds } from '../../delivery/feed.ts';
import { chooseType } from '../../http/accept.ts';
import { admit, authenticate, type CallerCache, createCallerCache } from '../../http/admission.ts';
import { type ApiEnv, answerUnrouted, createBaseApp } from '../../http/app.ts';
import { identifyOperator } from '../../http/operators.ts';
import type { FileReader } from '../../intake/parser-threads.ts';
import { type AddressGuard, createAddressGuard } from '../../platform/address-guard.ts';
import { Problem } from '../../platform/problem.ts';
import { docsPages } from '../docs/guides.tsx';
import { getHealthRoute, getReadinessRoute } from '../health.ts';
import { createDocument } from '../openapi/document.ts';
import type { Audience } from '../openapi/headers.ts';
import { getProblem } from '../problem-page.ts';
import { addAccountRoutes } from './accounts.ts';
import { addApiKeyRoutes } from './api-keys.ts';
import { addBankRoutes } from './banks.ts';
import { addConflictRoutes } from './conflicts.ts';
import { addCustomerRoutes } from './customers.ts';
import { addDeliveryRoutes, addMovementDeliveriesRoute } from './deliveries.ts';
import { addFeedRoutes } from './feed.ts';
import { limitImportMemory } from './imports/create.ts';
import { addImportRoutes } from './imports.ts';
import { addOperatorRoutes } from './operators.ts';
import { addRoutes, createTable, type TableRow } from './route.ts';
import { addSettingsRoutes } from './settings.ts';
import { addSourceRoutes } from './sources.ts';
import { addMovementRoutes, createAnswerListing } from './transactions.ts';
import { addTemplateRoutes } from './webhook-templates.ts';
import { addWebhookRoutes } from './webhooks.ts';
import { addWithdrawalRoutes } from './withdrawals.ts';

/** The apps of the API: that of customers, and that of operators, who may call the routes of customers too. */

interface Parts {
  guard: AddressGuard;
  /** Of statement files. */
  reader: FileReader;
  /** Stopped by the caller, so that waiting readers do not delay a shutdown. By default, the app opens its own. */
  feeds?: Feeds;
}

/** The table of all routes. @param callers forget an API key that a route deletes. */
export function createRoutes(
  runtime: Runtime,
  { guard, reader, feeds = openFeeds(runtime) }: Parts,
  callers: CallerCache,
): TableRow[] {
  const { table, add: route } = createTable();
  addWebhookRoutes(route, runtime, guard);
  addFeedRoutes(route, runtime, feeds);
  addDeliveryRoutes(route, runtime);
  const answerListing = createAnswerListing(runtime);
  addMovementRoutes(route, runtime, answerListing);
  addMovementDeliveriesRoute(route, runtime);
  addAccountRoutes(route, runtime, answerListing);
  addBankRoutes(route, runtime);
  addApiKeyRoutes(route, runtime, callers);
  addSettingsRoutes(route, runtime);
  addImportRoutes(route, runtime, reader);
  addConflictRoutes(route, runtime);
  addWithdrawalRoutes(route, runtime);
  const sourceGuard = createAddressGuard({ allow: runtime.config.allowPrivateEndpoints, subject: 'source' });
  addSourceRoutes(route, runtime, sourceGuard);
  addCustomerRoutes(route, runtime, guard);
  addTemplateRoutes(route, runtime, guard);
  addOperatorRoutes(route, runtime);
  return table;
}

/** Creates the apps of customers and of operators. They share what routes keep in memory, such as how many tests were sent. */
export function createApps(runtime: Runtime, parts: Parts): Record<Audience, Hono<ApiEnv>> {
  const callers = createCallerCache();
  const table = createRoutes(runtime, parts, callers);
  return {
    customers: createAppOf(runtime, table, 'customers', authenticate(runtime, callers)),
    operators: createAppOf(runtime, table, 'operators', identifyOperator(runtime)),
  };
}

function createAppOf(
  runtime: Runtime,
  table: readonly TableRow[],
  audience: Audience,
  identify: MiddlewareHandler<ApiEnv>,
): Hono<ApiEnv> {
  const app = createBaseApp(runtime);
  app.get('/healthz', ...getHealthRoute());
  app.get('/readyz', ...getReadinessRoute(runtime));
  app.use('/v1/*', ...admit(runtime, identify));
  app.post('/v1/imports', limitImportMemory());
  addRoutes(app, table, audience);

  let document: Promise<object> | undefined;
  app.get('/openapi.json', async (c) => {
    document ??= createDocument(app, audience);
    return c.json(await document);
  });
  app.get('/problems/:name', ...getProblem());
  if (audience === 'customers')
    app.get('/', (c) => {
      // Browsers name HTML. What a client gets is an error, so that a wrong address is not taken for a right one.
      c.header('Vary', 'Accept');
      if (chooseType(c.req.header('Accept'), ['application/json', 'text/html']) === 'text/html')
        return c.redirect('/docs');
      throw new Problem(
        'not-found',
        'There is nothing at /. The API is below /v1, its documentation at /docs.',
      );
    });
  app.get('/docs/', (c) => c.redirect('/docs'));
  app.route('/docs', docsPages(audience));

  answerUnrouted(app);
  return app;
}
