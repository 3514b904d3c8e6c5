import type { Hono, MiddlewareHandler } from 'hono';
import { openAPIRouteHandler } from 'hono-openapi';
import { type AddressGuard, createAddressGuard } from '../platform/addresses/address-guard.ts';
import type { Runtime } from '../platform/runtime.ts';
import { VERSION } from '../platform/version.ts';
import type { StatementFormats } from '../statements/formats.ts';
import { docsPages, getProblem } from './docs-pages.ts';
import type { ApiEnv } from './environment.ts';
import { authenticate, createCallerCache } from './middleware/authentication.ts';
import { answerUnrouted, createBaseApp } from './middleware/base-app.ts';
import { idempotentRequests } from './middleware/idempotency.ts';
import { limitRate } from './middleware/rate-limit.ts';
import { traceRequests } from './middleware/trace-requests.ts';
import { HEADERS, PROBLEM_SCHEMA } from './openapi/documented-problems.ts';
import { NOTIFICATION } from './openapi/notification.ts';
import { EVENT_NOTIFICATION } from './openapi/operational-notification.ts';
import { changeAccount } from './routes/accounts/change.ts';
import { createAccount } from './routes/accounts/create.ts';
import { removeAccount } from './routes/accounts/delete.ts';
import { getAccount, listAccounts } from './routes/accounts/list.ts';
import { createApiKey } from './routes/apikeys/create.ts';
import { removeApiKey } from './routes/apikeys/delete.ts';
import { listApiKeys } from './routes/apikeys/list.ts';
import { listBanks } from './routes/banks/list.ts';
import { getDelivery } from './routes/deliveries/get.ts';
import { listDeliveries } from './routes/deliveries/list.ts';
import { redeliverDelivery } from './routes/deliveries/redeliver.ts';
import { getHealth, getReadiness } from './routes/health.ts';
import { createImport } from './routes/imports/create.ts';
import { getImport, listImportErrors, listImports } from './routes/imports/list.ts';
import { limitImportMemory } from './routes/imports/memory-limit.ts';
import { retryImport } from './routes/imports/retry.ts';
import { rotateCustomerSecret } from './routes/settings/rotate.ts';
import { getApiSettings } from './routes/settings/show.ts';
import { changeSource } from './routes/sources/change.ts';
import { createSource } from './routes/sources/create.ts';
import { removeSource } from './routes/sources/delete.ts';
import { getSource } from './routes/sources/get.ts';
import { listSources } from './routes/sources/list.ts';
import { listSourceRuns } from './routes/sources/list-runs.ts';
import { runSource } from './routes/sources/run.ts';
import { listDeliveriesOfMovement } from './routes/transactions/deliveries.ts';
import { getTransaction } from './routes/transactions/get.ts';
import { listAccountTransactions, listAllTransactions } from './routes/transactions/list.ts';
import { changeWebhook } from './routes/webhooks/change.ts';
import { createWebhook } from './routes/webhooks/create.ts';
import { removeWebhook } from './routes/webhooks/delete.ts';
import { getWebhook } from './routes/webhooks/get.ts';
import { listWebhooks } from './routes/webhooks/list.ts';
import { replayWebhook } from './routes/webhooks/replay.ts';
import { rotateWebhookSecret } from './routes/webhooks/rotate-secret.ts';
import { sendSample } from './routes/webhooks/test.ts';

const DOCUMENT = {
  info: {
    title: 'Ledgerbell',
    version: VERSION,
    license: { name: 'MIT', identifier: 'MIT' },
    description:
      'Ledgerbell collects bank-account movements, stores them, lists them, and sends each new one as a signed POST to every matching webhook, with retries for about three days.',
  },
  components: {
    securitySchemes: {
      apiKey: { type: 'apiKey' as const, in: 'header' as const, name: 'Authentication' },
      bearer: { type: 'http' as const, scheme: 'bearer' },
    },
    headers: HEADERS,
    schemas: { Problem: PROBLEM_SCHEMA },
  },
  security: [{ apiKey: [] }, { bearer: [] }],
  servers: [{ url: '/' }],
  webhooks: { ...NOTIFICATION, ...EVENT_NOTIFICATION },
};

/**
 * Creates the app with all its routes: the API, health checks and docs.
 * @param options.formats of statement files.
 * @param options.identify sets the caller of a request; the default asks for an API key. The command line uses it for operators.
 */
export function createApp(
  runtime: Runtime,
  guard: AddressGuard,
  { formats, identify }: { formats: StatementFormats; identify?: MiddlewareHandler<ApiEnv> },
): Hono<ApiEnv> {
  const app = createBaseApp(runtime);

  app.get('/healthz', ...getHealth());
  app.get('/readyz', ...getReadiness(runtime));

  const callers = createCallerCache();
  app.use('/v1/*', identify ?? authenticate(runtime, callers));
  if (runtime.tracing !== undefined) app.use('/v1/*', traceRequests(runtime.tracing));
  if (runtime.config.rateLimit > 0) app.use('/v1/*', limitRate(runtime));
  app.use('/v1/*', idempotentRequests(runtime));
  app.get('/v1/webhooks', ...listWebhooks(runtime));
  app.post('/v1/webhooks', ...createWebhook(runtime, guard));
  app.get('/v1/webhooks/:id', ...getWebhook(runtime));
  app.patch('/v1/webhooks/:id', ...changeWebhook(runtime, guard));
  app.delete('/v1/webhooks/:id', ...removeWebhook(runtime));
  app.post('/v1/webhooks/:id/test', ...sendSample(runtime, guard));
  app.post('/v1/webhooks/:id/rotate-secret', ...rotateWebhookSecret(runtime));
  app.post('/v1/webhooks/:id/replay', ...replayWebhook(runtime));
  app.get('/v1/webhooks/:id/deliveries', ...listDeliveries(runtime));
  app.get('/v1/deliveries/:id', ...getDelivery(runtime));
  app.post('/v1/deliveries/:id/redeliver', ...redeliverDelivery(runtime));
  app.get('/v1/transactions', ...listAllTransactions(runtime));
  app.get('/v1/transactions/:id', ...getTransaction(runtime));
  app.get('/v1/transactions/:id/deliveries', ...listDeliveriesOfMovement(runtime));
  app.get('/v1/accounts', ...listAccounts(runtime));
  app.post('/v1/accounts', ...createAccount(runtime));
  app.get('/v1/accounts/:id', ...getAccount(runtime));
  app.patch('/v1/accounts/:id', ...changeAccount(runtime));
  app.delete('/v1/accounts/:id', ...removeAccount(runtime));
  app.get('/v1/accounts/:account_id/transactions', ...listAccountTransactions(runtime));
  app.get('/v1/banks', ...listBanks(runtime));
  app.get('/v1/apikeys', ...listApiKeys(runtime));
  app.post('/v1/apikeys', ...createApiKey(runtime));
  app.delete('/v1/apikeys/:id', ...removeApiKey(runtime, callers));
  app.get('/v1/settings/api', ...getApiSettings(runtime));
  app.post('/v1/settings/api/rotate', ...rotateCustomerSecret(runtime));
  app.get('/v1/imports', ...listImports(runtime));
  app.post('/v1/imports', limitImportMemory(), ...createImport(runtime, formats));
  app.get('/v1/imports/:id', ...getImport(runtime));
  app.get('/v1/imports/:id/errors', ...listImportErrors(runtime));
  app.post('/v1/imports/:id/retry', ...retryImport(runtime));
  const sourceGuard = createAddressGuard({ allow: runtime.config.allowPrivateEndpoints, subject: 'source' });
  app.get('/v1/sources', ...listSources(runtime));
  app.post('/v1/sources', ...createSource(runtime, sourceGuard));
  app.get('/v1/sources/:id', ...getSource(runtime));
  app.patch('/v1/sources/:id', ...changeSource(runtime, sourceGuard));
  app.delete('/v1/sources/:id', ...removeSource(runtime));
  app.post('/v1/sources/:id/run', ...runSource(runtime));
  app.get('/v1/sources/:id/runs', ...listSourceRuns(runtime));

  app.get('/openapi.json', openAPIRouteHandler(app, { documentation: DOCUMENT }));
  app.get('/problems/:name', ...getProblem());
  app.get('/docs/', (c) => c.redirect('/docs'));
  app.route('/docs', docsPages());

  answerUnrouted(app);
  return app;
}
