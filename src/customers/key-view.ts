import * as v from 'valibot';
import { IdView, Timestamp } from '../platform/validation.ts';
import type { StoredKey } from './api-keys.ts';
import { SCOPES } from './caller.ts';

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

export const viewKey = (key: StoredKey) => ({
  id: Number(key.id),
  prefix: key.prefix,
  title: key.title,
  account: key.accountIds === 'all' ? 'all' : key.accountIds.map(Number),
  scopes: key.scopes,
  created_at: key.createdAt.toISOString(),
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
});
