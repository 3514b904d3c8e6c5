import * as v from 'valibot';
import { inTransaction } from '../database/transaction.ts';
import type { CallerCache } from '../http/caller-cache.ts';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound, Problem } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';

const LOCK = 'SELECT id FROM api_keys WHERE id = ? AND customer_id = ? FOR UPDATE';

/** The importer needs the key to know which accounts a row may have. Index: imports_status. */
const UNFINISHED = `
  SELECT id FROM imports WHERE status IN ('receiving', 'queued', 'running') AND customer_id = ? AND api_key_id = ? LIMIT 1`;

const DELETE = 'DELETE FROM api_keys WHERE id = ?';

/** DELETE /v1/apikeys/:id */
export const removeApiKey = ({ database }: Runtime, callers: CallerCache) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      summary: 'Delete an API key',
      description:
        'From then on it is answered 401; a key may delete itself. Not while an import that was sent with it is under way.',
      path: { id: idParameter('API key') },
      answer: { schema: v.object({ status: v.literal('success') }), description: 'It is deleted.' },
      problems: ['forbidden', 'not-found', 'conflict'],
    },
    async (c) => {
      const { customerId, apiKeyId, accountIds } = c.get('caller');
      const id = readId(c, 'API key');
      if (accountIds !== 'all' && id !== apiKeyId) {
        throw new Problem(
          'forbidden',
          'This API key is limited to some accounts, and may delete itself alone: use a key that sees all.',
        );
      }
      await inTransaction(database, async (sql) => {
        const [key] = await sql.query<{ id: string }[]>(LOCK, [id, customerId]);
        if (key === undefined) throw notFound('API key');
        const [unfinished] = await sql.query<{ id: string }[]>(UNFINISHED, [customerId, id]);
        if (unfinished !== undefined) {
          throw new Problem(
            'conflict',
            `Import ${unfinished.id}, which was sent with this API key, is not finished: delete the key when it is.`,
          );
        }
        await sql.query(DELETE, [id]);
      });
      callers.forget(id);
      return c.json({ status: 'success' });
    },
  );
