import type { Hono, MiddlewareHandler } from 'hono';
import type { Runtime } from '../../database/runtime.ts';
import { admit } from '../../http/admission.ts';
import { type ApiEnv, answerUnrouted, createBaseApp } from '../../http/app.ts';
import { createCallerCache } from '../../http/authentication.ts';
import { type AddressGuard, createAddressGuard } from '../../platform/address-guard.ts';
import type { StatementFormats } from '../../statements/formats.ts';
import { docsPages, getProblem } from '../docs-pages.ts';
import { getHealthRoute, getReadinessRoute } from '../health.ts';
import { createDocument } from '../openapi/document.ts';
import { listBalancesRoute } from './accounts/balances.ts';
import { changeAccountRoute } from './accounts/change.ts';
import { createAccountRoute } from './accounts/create.ts';
import { deleteAccountRoute } from './accounts/delete.ts';
import { getAccountRoute, listAccountsRoute } from './accounts/list.ts';
import { getCompletenessRoute, listStatementsRoute } from './accounts/statements.ts';
import { createApiKeyRoute } from './apikeys/create.ts';
import { deleteApiKeyRoute } from './apikeys/delete.ts';
import { listApiKeysRoute } from './apikeys/list.ts';
import { listBanksRoute } from './banks/list.ts';
import { decideConflictRoute } from './conflicts/decide.ts';
import { getConflictRoute, listConflictsRoute } from './conflicts/list.ts';
import { getDeliveryRoute } from './deliveries/get.ts';
import { listDeliveriesRoute } from './deliveries/list.ts';
import { redeliverRoute } from './deliveries/redeliver.ts';
import { createImportRoute } from './imports/create.ts';
import {
  getImportRoute,
  listImportDuplicatesRoute,
  listImportErrorsRoute,
  listImportsRoute,
} from './imports/list.ts';
import { limitImportMemory } from './imports/memory-limit.ts';
import { retryImportRoute } from './imports/retry.ts';
import { rotateApiSecretRoute } from './settings/rotate.ts';
import { getApiSettingsRoute } from './settings/show.ts';
import { changeSourceRoute } from './sources/change.ts';
import { createSourceRoute } from './sources/create.ts';
import { deleteSourceRoute } from './sources/delete.ts';
import { getSourceRoute } from './sources/get.ts';
import { listSourcesRoute } from './sources/list.ts';
import { listSourceRunsRoute } from './sources/list-runs.ts';
import { runSourceRoute } from './sources/run.ts';
import { listDeliveriesOfMovementRoute } from './transactions/deliveries.ts';
import { getTransactionRoute } from './transactions/get.ts';
import { listAccountTransactionsRoute, listTransactionsRoute } from './transactions/list.ts';
import { changeWebhookRoute } from './webhooks/change.ts';
import { createWebhookRoute } from './webhooks/create.ts';
import { deleteWebhookRoute } from './webhooks/delete.ts';
import { getWebhookRoute } from './webhooks/get.ts';
import { listWebhooksRoute } from './webhooks/list.ts';
import { replayWebhookRoute } from './webhooks/replay.ts';
import { cancelReplayRoute, getReplayRoute, listReplaysRoute } from './webhooks/replays.ts';
import { rotateWebhookSecretRoute } from './webhooks/rotate-secret.ts';
import { sendTestNotificationRoute } from './webhooks/test.ts';

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
  app.use('/v1/*', ...admit(runtime, { callers, identify }));
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
