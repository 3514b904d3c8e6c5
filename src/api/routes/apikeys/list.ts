import * as v from 'valibot';
import { KeyView, viewKey } from '../../../customers/key-view.ts';
import { findKeys } from '../../../customers/keys.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readQuery } from '../../../http/input.ts';
import { cutPage, MAX_PER_PAGE, paging, pagingParameters } from '../../../http/paging.ts';
import { createRoute, requireWholeKey } from '../route.ts';

const Query = v.strictObject(paging('k1', MAX_PER_PAGE));

/** GET /v1/apikeys */
export const listApiKeysRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
      operationId: 'listApiKeys',
      summary: 'List your API keys',
      description:
        'Lists the API keys, the oldest first, without the keys themselves. If there is a next page, the header Link has its path.',
      query: pagingParameters('k1', MAX_PER_PAGE),
      answer: { schema: v.object({ apikeys: v.array(KeyView) }), description: 'A page of API keys.' },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'List API keys with a key for all accounts.');
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const page = { after: cursor, limit: per_page + 1 };
      const found = await findKeys(database, caller.customerId, page);
      return c.json({ apikeys: cutPage(c, 'k1', found, per_page).map(viewKey) });
    },
  );
