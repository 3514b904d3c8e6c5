import * as v from 'valibot';
import { Title } from '../http/input.ts';
import { SCOPES } from '../http/scopes.ts';
import { Id } from '../validation.ts';

const MAX_ACCOUNTS = 1_000;

const SCOPES_RULE = `must be a list with at least one of ${SCOPES.join(', ')}`;

const RULE = 'must be "all", or a list of the ids of your accounts';

/** The body of POST /v1/apikeys. */
export const NewApiKey = v.strictObject({
  title: Title,
  account: v.union(
    [
      v.literal('all'),
      v.pipe(
        v.array(Id),
        v.minLength(1, 'must name at least one account'),
        v.maxLength(MAX_ACCOUNTS, `must name at most ${MAX_ACCOUNTS} accounts`),
      ),
    ],
    RULE,
  ),
  scopes: v.optional(
    v.pipe(
      v.array(v.picklist(SCOPES, SCOPES_RULE), SCOPES_RULE),
      v.minLength(1, SCOPES_RULE),
      v.transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope))),
    ),
    [...SCOPES],
  ),
});
