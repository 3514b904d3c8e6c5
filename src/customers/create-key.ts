import * as v from 'valibot';
import { inTransaction } from '../database/transaction.ts';
import { createHandlers } from '../http/environment.ts';
import { invalidIssues, readJson } from '../http/input.ts';
import { describe } from '../http/openapi.ts';
import { requireWholeKey } from '../http/whole-key.ts';
import type { Runtime } from '../runtime.ts';
import { createApiKey as storeApiKey } from './customers.ts';
import { NewApiKey } from './key-input.ts';

const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

/** POST /v1/apikeys */
export const createApiKey = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'API keys',
      summary: 'Make an API key',
      description:
        'For all accounts, those added later included, or for a list of them: such a key sees these accounts, their movements and their webhooks alone. The key is shown in this answer only.',
      body: { 'application/json': NewApiKey },
      answer: {
        schema: v.object({ apikey: v.object({ id: v.string(), apikey: v.string() }) }),
        description: 'The key.',
      },
      problems: ['malformed', 'forbidden', 'too-large', 'unsupported-media-type', 'invalid'],
    }),
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'make API keys with a key that sees all.');
      const { title, account } = await readJson(c, NewApiKey);
      const chosen = account === 'all' ? account : [...new Set(account)];
      if (account !== 'all') {
        const rows = await database.query<{ id: string }[]>(ACCOUNTS, [caller.customerId]);
        const known = new Set(rows.map(({ id }) => id));
        const issues = account.flatMap((id, index) =>
          known.has(id)
            ? []
            : [{ path: `account.${index}`, message: 'must be the id of one of your accounts' }],
        );
        if (issues.length > 0) throw invalidIssues(issues);
      }
      const apikey = await inTransaction(database, (sql) =>
        storeApiKey(sql, { customerId: caller.customerId, title, accountIds: chosen }),
      );
      return c.json({ apikey });
    },
  );
