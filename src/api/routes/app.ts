import type { Hono, MiddlewareHandler } from 'hono';
import type { Runtime } from '../../database/runtime.ts';
import { type Feeds, openFeeds } from '../../delivery/feed.ts';
import { admit, createCallerCache } from '../../http/admission.ts';
import { type ApiEnv, answerUnrouted, createBaseApp } from '../../http/app.ts';
import type { FileReader } from '../../intake/parser-threads.ts';
import { type AddressGuard, createAddressGuard } from '../../platform/address-guard.ts';
import { docsPages, getProblem } from '../docs-pages.ts';
import { getHealthRoute, getReadinessRoute } from '../health.ts';
import { createDocument } from '../openapi/document.ts';
import { addAccountRoutes } from './accounts.ts';
import { addApiKeyRoutes } from './api-keys.ts';
import { addBankRoutes } from './banks.ts';
import { addConflictRoutes } from './conflicts.ts';
import { addDeliveryRoutes, addMovementDeliveriesRoute } from './deliveries.ts';
import { addFeedRoutes } from './feed.ts';
import { limitImportMemory } from './imports/create.ts';
import { addImportRoutes } from './imports.ts';
import { addRoutes, createTable } from './route.ts';
import { addSettingsRoutes } from './settings.ts';
import { addSourceRoutes } from './sources.ts';
import { addMovementRoutes, createAnswerListing } from './transactions.ts';
import { addWebhookRoutes } from './webhooks.ts';
import { addWithdrawalRoutes } from './withdrawals.ts';

/** The app of the API, with all of its routes. */

/**
 * Creates the app with all its routes: the API, health checks and docs.
 * @param options.reader of statement files.
 * @param options.feeds stopped by the caller, so that waiting readers do not delay a shutdown. By default, the app opens its own.
 * @param options.identify sets the caller of a request. By default, an API key is required. The command line sets it for operators.
 */
export function createApp(
  runtime: Runtime,
  guard: AddressGuard,
  {
    reader,
    identify,
    feeds = openFeeds(runtime),
  }: { reader: FileReader; identify?: MiddlewareHandler<ApiEnv>; feeds?: Feeds },
): Hono<ApiEnv> {
  const app = createBaseApp(runtime);

  app.get('/healthz', ...getHealthRoute());
  app.get('/readyz', ...getReadinessRoute(runtime));

  const callers = createCallerCache();
  app.use('/v1/*', ...admit(runtime, { callers, identify }));
  app.post('/v1/imports', limitImportMemory());
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
  addRoutes(app, table, 'customers');

  let document: Promise<object> | undefined;
  app.get('/openapi.json', async (c) => {
    document ??= createDocument(app);
    return c.json(await document);
  });
  app.get('/problems/:name', ...getProblem());
  app.get('/docs/', (c) => c.redirect('/docs'));
  app.route('/docs', docsPages());

  answerUnrouted(app);
  return app;
}
