import * as v from 'valibot';
import { SCOPES } from '../../../customers/caller.ts';
import { findKeys, type StoredKey } from '../../../customers/keys.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { IdView, Timestamp } from '../../../platform/validation.ts';
import { readQuery } from '../../input.ts';
import { cutPage, MAX_PER_PAGE, paging, pagingParameters } from '../../paging.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

const Query = v.strictObject(paging('k1', MAX_PER_PAGE));

export const KeyView = v.object({
  id: IdView,
  prefix: v.pipe(v.string(), v.description('The first characters of the key.')),
  title: v.string(),
  account: v.union([v.literal('all'), v.array(IdView)]),
  scopes: v.array(v.picklist(SCOPES)),
  created_at: Timestamp,
  last_used_at: v.pipe(
    v.nullable(Timestamp),
    v.description('When the key was last used, to the minute. null: never.'),
  ),
});

const viewKey = (key: StoredKey) => ({
  id: Number(key.id),
  prefix: key.prefix,
  title: key.title,
  account: key.accountIds === 'all' ? 'all' : key.accountIds.map(Number),
  scopes: key.scopes,
  created_at: key.createdAt.toISOString(),
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
});

/** GET /v1/apikeys */
export const listApiKeys = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'API keys',
      scope: 'admin',
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
