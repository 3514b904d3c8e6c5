import * as v from 'valibot';
import { IdView, Timestamp, withExample } from '../platform/validation.ts';
import { OPERATOR_ROLES, type OperatorRole } from './caller.ts';

export const OperatorTokenView = v.object({
  id: IdView,
  prefix: v.pipe(v.string(), v.description('The first characters of the token.')),
  title: v.string(),
  role: v.picklist(OPERATOR_ROLES),
  expires_at: v.pipe(
    withExample(v.nullable(Timestamp), '2026-11-30T00:00:00.000Z'),
    v.description('null: never.'),
  ),
  created_at: Timestamp,
  last_used_at: v.pipe(
    v.nullable(Timestamp),
    v.description('When the token was last used, to the minute. null: never.'),
  ),
});

/** A row of `operator_tokens`, without the digest. */
export interface StoredToken {
  id: string;
  prefix: string;
  title: string;
  role: OperatorRole;
  expires_at: Date | null;
  created_at: Date;
  last_used_at: Date | null;
}

export const viewToken = (it: StoredToken): v.InferOutput<typeof OperatorTokenView> => ({
  id: Number(it.id),
  prefix: it.prefix,
  title: it.title,
  role: it.role,
  expires_at: it.expires_at?.toISOString() ?? null,
  created_at: it.created_at.toISOString(),
  last_used_at: it.last_used_at?.toISOString() ?? null,
});
