import type { Hono, MiddlewareHandler } from 'hono';
import { openAPIRouteHandler } from 'hono-openapi';
import { changeAccount } from '../accounts/change-account.ts';
import { createAccount } from '../accounts/create.ts';
import { getAccount, listAccounts } from '../accounts/list.ts';
import { listBanks } from '../accounts/list-banks.ts';
import { type AddressGuard, createAddressGuard } from '../addresses/address-guard.ts';
import { createApiKey } from '../customers/create-key.ts';
import { removeApiKey } from '../customers/delete-key.ts';
import { listApiKeys } from '../customers/list-keys.ts';
import { rotateCustomerSecret } from '../customers/rotate-api-secret.ts';
import { getApiSettings } from '../customers/show-api-secret.ts';
import { removeAccount } from '../deleting/remove-account.ts';
import { getDelivery } from '../deliveries/get.ts';
import { listDeliveries } from '../deliveries/list.ts';
import { listDeliveriesOfMovement } from '../deliveries/of-movement.ts';
import { redeliverDelivery } from '../deliveries/redeliver.ts';
import { replayWebhook } from '../deliveries/replay.ts';
import { authenticate } from '../http/authentication.ts';
import { answerUnrouted, createBaseApp } from '../http/base-app.ts';
import { createCallerCache } from '../http/caller-cache.ts';
import { HEADERS } from '../http/documented-headers.ts';
import { PROBLEM_SCHEMA } from '../http/documented-problems.ts';
import type { ApiEnv } from '../http/environment.ts';
import { idempotentRequests } from '../http/idempotent-requests.ts';
import { limitRate } from '../http/rate-limit.ts';
import { traceRequests } from '../http/trace-requests.ts';
import type { StatementFormats } from '../importing/statements/formats.ts';
import { createImport } from '../imports/create.ts';
import { getImport, listImportErrors, listImports } from '../imports/get.ts';
import { limitImportMemory } from '../imports/memory-limit.ts';
import { retryImport } from '../imports/retry.ts';
import { getTransaction } from '../listing/get.ts';
import { listAccountTransactions, listAllTransactions } from '../listing/list.ts';
import type { Runtime } from '../runtime.ts';
import { changeSource } from '../sources/change-source.ts';
import { createSource } from '../sources/create.ts';
import { getSource } from '../sources/get.ts';
import { listSources } from '../sources/list.ts';
import { listSourceRuns } from '../sources/list-runs.ts';
import { removeSource } from '../sources/remove-source.ts';
import { runSource } from '../sources/run-source.ts';
import { VERSION } from '../version.ts';
import { changeWebhook } from '../webhooks/change.ts';
import { createWebhook } from '../webhooks/create.ts';
import { getWebhook } from '../webhooks/get.ts';
import { listWebhooks } from '../webhooks/list.ts';
import { removeWebhook } from '../webhooks/remove.ts';
import { rotateWebhookSecret } from '../webhooks/rotate-secret.ts';
import { sendSample } from '../webhooks/send-sample.ts';
import { docsPages } from './docs-page.ts';
import { getHealth, getReadiness } from './health.ts';
import { NOTIFICATION } from './notification.ts';
import { EVENT_NOTIFICATION } from './operational-notification.ts';
import { getProblem } from './problem-pages.ts';

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
