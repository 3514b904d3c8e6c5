import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import { findForeignAccounts, NewApiKey, createApiKey as storeApiKey } from '../../../customers/keys.ts';
import { inTransaction } from '../../../platform/database/transaction.ts';
import { invalidIssues } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { IdView } from '../../../platform/validation.ts';
import { readJson } from '../../input.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

/** POST /v1/apikeys */
export const createApiKeyRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      idempotent: true,
      summary: 'Create an API key',
      description:
        'Creates an API key for all accounts, including those that you create later, or for a list of accounts. A limited key sees only its accounts, their movements and their webhooks. The key itself is shown only in this answer.',
      body: { 'application/json': NewApiKey },
      answer: {
        schema: v.object({ apikey: v.object({ id: IdView, apikey: v.string() }) }),
        description: 'The API key.',
        secret: true,
      },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Create API keys with a key for all accounts.');
      const { title, account, scopes } = await readJson(c, NewApiKey);
      const chosen = account === 'all' ? account : [...new Set(account)];
      if (account !== 'all') {
        const foreign = await findForeignAccounts(database, caller.customerId, account);
        const issues = account.flatMap((id, index) =>
          foreign.includes(id)
            ? [{ path: `account.${index}`, message: 'must be the id of one of your accounts' }]
            : [],
        );
        if (issues.length > 0) throw invalidIssues(issues);
      }
      const { customerId } = caller;
      const { id, apikey } = await inTransaction(database, async (sql) => {
        const created = await storeApiKey(sql, { customerId, title, accountIds: chosen, scopes });
        await recordChange(sql, caller, {
          action: 'create',
          subject: `API key ${created.id}`,
          detail: `${title}, for ${chosen === 'all' ? 'all accounts' : `accounts ${chosen.join(', ')}`}`,
        });
        return created;
      });
      return c.json({ apikey: { id: Number(id), apikey } });
    },
  );
