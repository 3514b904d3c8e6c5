import type { Hono, MiddlewareHandler } from 'hono';
import type { Runtime } from '../database/runtime.ts';
import { limitInFlight, MOST_IN_FLIGHT, MOST_OF_CUSTOMER } from '../http/admission/in-flight.ts';
import { traceRequests } from '../http/admission/trace-requests.ts';
import { authenticate, createCallerCache } from '../http/authentication.ts';
import { answerUnrouted, createBaseApp } from '../http/base-app.ts';
import type { ApiEnv } from '../http/environment.ts';
import { createCarryOutOnce } from '../http/idempotency.ts';
import { limitRate } from '../http/quotas.ts';
import { type AddressGuard, createAddressGuard } from '../platform/addresses/address-guard.ts';
import type { StatementFormats } from '../statements/formats.ts';
import { docsPages, getProblem } from './docs-pages.ts';
import { createDocument } from './openapi/document.ts';
import { listBalancesRoute } from './routes/accounts/balances.ts';
import { changeAccountRoute } from './routes/accounts/change.ts';
import { createAccountRoute } from './routes/accounts/create.ts';
import { deleteAccountRoute } from './routes/accounts/delete.ts';
import { getAccountRoute, listAccountsRoute } from './routes/accounts/list.ts';
import { getCompletenessRoute, listStatementsRoute } from './routes/accounts/statements.ts';
import { createApiKeyRoute } from './routes/apikeys/create.ts';
import { deleteApiKeyRoute } from './routes/apikeys/delete.ts';
import { listApiKeysRoute } from './routes/apikeys/list.ts';
import { listBanksRoute } from './routes/banks/list.ts';
import { decideConflictRoute } from './routes/conflicts/decide.ts';
import { getConflictRoute, listConflictsRoute } from './routes/conflicts/list.ts';
import { getDeliveryRoute } from './routes/deliveries/get.ts';
import { listDeliveriesRoute } from './routes/deliveries/list.ts';
import { redeliverRoute } from './routes/deliveries/redeliver.ts';
import { getHealthRoute, getReadinessRoute } from './routes/health.ts';
import { createImportRoute } from './routes/imports/create.ts';
import {
  getImportRoute,
  listImportDuplicatesRoute,
  listImportErrorsRoute,
  listImportsRoute,
} from './routes/imports/list.ts';
import { limitImportMemory } from './routes/imports/memory-limit.ts';
import { retryImportRoute } from './routes/imports/retry.ts';
import { rotateApiSecretRoute } from './routes/settings/rotate.ts';
import { getApiSettingsRoute } from './routes/settings/show.ts';
import { changeSourceRoute } from './routes/sources/change.ts';
import { createSourceRoute } from './routes/sources/create.ts';
import { deleteSourceRoute } from './routes/sources/delete.ts';
import { getSourceRoute } from './routes/sources/get.ts';
import { listSourcesRoute } from './routes/sources/list.ts';
import { listSourceRunsRoute } from './routes/sources/list-runs.ts';
import { runSourceRoute } from './routes/sources/run.ts';
import { listDeliveriesOfMovementRoute } from './routes/transactions/deliveries.ts';
import { getTransactionRoute } from './routes/transactions/get.ts';
import { listAccountTransactionsRoute, listTransactionsRoute } from './routes/transactions/list.ts';
import { changeWebhookRoute } from './routes/webhooks/change.ts';
import { createWebhookRoute } from './routes/webhooks/create.ts';
import { deleteWebhookRoute } from './routes/webhooks/delete.ts';
import { getWebhookRoute } from './routes/webhooks/get.ts';
import { listWebhooksRoute } from './routes/webhooks/list.ts';
import { replayWebhookRoute } from './routes/webhooks/replay.ts';
import { cancelReplayRoute, getReplayRoute, listReplaysRoute } from './routes/webhooks/replays.ts';
import { rotateWebhookSecretRoute } from './routes/webhooks/rotate-secret.ts';
import { sendTestNotificationRoute } from './routes/webhooks/test.ts';

/**
 * Creates the app with all its routes: the API, health checks and docs.
 * @param options.formats of statement files.
 * @param options.identify sets the caller of a request. By default, an API key is required. The command line sets it for operators.
 */
export function createApp(
  runtime: Runtime,
  guard: AddressGuard,
  { formats, identify }: { formats: StatementFormats; identify?: MiddlewareHandler<ApiEnv> },
): Hono<ApiEnv> {
  const app = createBaseApp(runtime);

  app.get('/healthz', ...getHealthRoute());
  app.get('/readyz', ...getReadinessRoute(runtime));

  const callers = createCallerCache();
  app.use(
    '/v1/*',
    limitInFlight(MOST_IN_FLIGHT, () => 'all'),
  );
  app.use('/v1/*', identify ?? authenticate(runtime, callers));
  app.use(
    '/v1/*',
    limitInFlight(MOST_OF_CUSTOMER, (c) => c.get('caller').customerId),
  );
  if (runtime.tracing !== undefined) app.use('/v1/*', traceRequests(runtime.tracing));
  if (runtime.config.rateLimit > 0) app.use('/v1/*', limitRate(runtime));
  const carryOutOnce = createCarryOutOnce(runtime);
  app.use('/v1/*', (c, next) => {
    c.set('carryOutOnce', carryOutOnce);
    return next();
  });
  app.get('/v1/webhooks', ...listWebhooksRoute(runtime));
  app.post('/v1/webhooks', ...createWebhookRoute(runtime, guard));
  app.get('/v1/webhooks/:id', ...getWebhookRoute(runtime));
  app.patch('/v1/webhooks/:id', ...changeWebhookRoute(runtime, guard));
  app.delete('/v1/webhooks/:id', ...deleteWebhookRoute(runtime));
  app.post('/v1/webhooks/:id/test', ...sendTestNotificationRoute(runtime, guard));
  app.post('/v1/webhooks/:id/rotate-secret', ...rotateWebhookSecretRoute(runtime));
  app.post('/v1/webhooks/:id/replay', ...replayWebhookRoute(runtime));
  app.get('/v1/webhooks/:id/replays', ...listReplaysRoute(runtime));
  app.get('/v1/replays/:id', ...getReplayRoute(runtime));
  app.post('/v1/replays/:id/cancel', ...cancelReplayRoute(runtime));
  app.get('/v1/webhooks/:id/deliveries', ...listDeliveriesRoute(runtime));
  app.get('/v1/deliveries/:id', ...getDeliveryRoute(runtime));
  app.post('/v1/deliveries/:id/redeliver', ...redeliverRoute(runtime));
  app.get('/v1/transactions', ...listTransactionsRoute(runtime));
  app.get('/v1/transactions/:id', ...getTransactionRoute(runtime));
  app.get('/v1/transactions/:id/deliveries', ...listDeliveriesOfMovementRoute(runtime));
  app.get('/v1/accounts', ...listAccountsRoute(runtime));
  app.post('/v1/accounts', ...createAccountRoute(runtime));
  app.get('/v1/accounts/:id', ...getAccountRoute(runtime));
  app.patch('/v1/accounts/:id', ...changeAccountRoute(runtime));
  app.delete('/v1/accounts/:id', ...deleteAccountRoute(runtime));
  app.get('/v1/accounts/:account_id/transactions', ...listAccountTransactionsRoute(runtime));
  app.get('/v1/accounts/:id/balances', ...listBalancesRoute(runtime));
  app.get('/v1/accounts/:id/statements', ...listStatementsRoute(runtime));
  app.get('/v1/accounts/:id/completeness', ...getCompletenessRoute(runtime));
  app.get('/v1/banks', ...listBanksRoute(runtime));
  app.get('/v1/apikeys', ...listApiKeysRoute(runtime));
  app.post('/v1/apikeys', ...createApiKeyRoute(runtime));
  app.delete('/v1/apikeys/:id', ...deleteApiKeyRoute(runtime, callers));
  app.get('/v1/settings/api', ...getApiSettingsRoute(runtime));
  app.post('/v1/settings/api/rotate', ...rotateApiSecretRoute(runtime));
  app.get('/v1/imports', ...listImportsRoute(runtime));
  app.post('/v1/imports', limitImportMemory(), ...createImportRoute(runtime, formats));
  app.get('/v1/imports/:id', ...getImportRoute(runtime));
  app.get('/v1/imports/:id/errors', ...listImportErrorsRoute(runtime));
  app.get('/v1/imports/:id/duplicates', ...listImportDuplicatesRoute(runtime));
  app.post('/v1/imports/:id/retry', ...retryImportRoute(runtime));
  app.get('/v1/conflicts', ...listConflictsRoute(runtime));
  app.get('/v1/conflicts/:id', ...getConflictRoute(runtime));
  app.post('/v1/conflicts/:id', ...decideConflictRoute(runtime));
  const sourceGuard = createAddressGuard({ allow: runtime.config.allowPrivateEndpoints, subject: 'source' });
  app.get('/v1/sources', ...listSourcesRoute(runtime));
  app.post('/v1/sources', ...createSourceRoute(runtime, sourceGuard));
  app.get('/v1/sources/:id', ...getSourceRoute(runtime));
  app.patch('/v1/sources/:id', ...changeSourceRoute(runtime, sourceGuard));
  app.delete('/v1/sources/:id', ...deleteSourceRoute(runtime));
  app.post('/v1/sources/:id/run', ...runSourceRoute(runtime));
  app.get('/v1/sources/:id/runs', ...listSourceRunsRoute(runtime));

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
