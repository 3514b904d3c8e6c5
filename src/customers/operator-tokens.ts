import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { createOperatorToken, digestOf, OPERATOR_TOKEN_PREFIX } from '../platform/tokens.ts';
import { documented, Title } from '../platform/validation.ts';
import { byOperator, recordChange } from './audit.ts';
import { OPERATOR_ROLES, type Operator, type OperatorRole } from './caller.ts';
import type { StoredToken } from './operator-token-view.ts';

/** The tokens of operators: which there are, how they are created and deleted, and whose one is. */

/** The prefix, and 4 of the 32 random bytes: enough to recognise a token. */
const SHOWN = OPERATOR_TOKEN_PREFIX.length + 6;

const MOST_TOKENS = 1_000;

const EXPIRES_RULE = 'must be a moment in the future in UTC, such as "2027-01-31T00:00:00Z"';

/** The body of POST /v1/operator-tokens. */
export const NewOperatorToken = v.strictObject({
  title: Title,
  role: v.pipe(
    v.picklist(OPERATOR_ROLES, `must be ${OPERATOR_ROLES.join(', ')}`),
    v.description(
      "viewer: reads, and sees no secret. operator: also changes things. admin: also manages operators' tokens.",
    ),
  ),
  expires_at: v.optional(
    v.nullable(
      v.pipe(
        v.string(EXPIRES_RULE),
        documented({ examples: ['2026-11-30T00:00:00Z'] }),
        v.isoTimestamp(EXPIRES_RULE),
        v.check((text) => new Date(text).getTime() > Date.now(), EXPIRES_RULE),
        v.check((text) => new Date(text).getUTCFullYear() < 10_000, EXPIRES_RULE),
      ),
    ),
    null,
  ),
});

const COLUMNS = 'id, prefix, title, role, expires_at, created_at, last_used_at';

/** Index: the primary key. */
const LIST = `SELECT ${COLUMNS} FROM operator_tokens WHERE id > ? ORDER BY id LIMIT ?`;

/** The tokens, the oldest first, also those that have expired. */
export const findTokens = (
  sql: Sql,
  { after, limit }: { after: string; limit: number },
): Promise<StoredToken[]> => sql.query<StoredToken[]>(LIST, [after, limit]);

const COUNT = 'SELECT COUNT(*) AS number FROM operator_tokens';

const INSERT =
  'INSERT INTO operator_tokens (title, role, prefix, token_hash, expires_at) VALUES (?, ?, ?, ?, ?)';

/** Creates a token. Only the result has it, because only its SHA-256 is stored. @throws {Problem} 409 when there are too many. */
export function createToken(
  database: DataSource,
  operator: Operator,
  { title, role, expires_at }: v.InferOutput<typeof NewOperatorToken>,
): Promise<{ id: string; token: string }> {
  const token = createOperatorToken();
  return inTransaction(database, async (sql) => {
    const [count] = await sql.query<{ number: string | number }[]>(COUNT);
    if (Number(count?.number) >= MOST_TOKENS)
      throw new Problem(
        'operator-token-limit-reached',
        `There are ${MOST_TOKENS} operators' tokens, which is the limit. Delete one that is no longer needed.`,
      );
    const { insertId } = await sql.query<WriteResult>(INSERT, [
      title,
      role,
      token.slice(0, SHOWN),
      digestOf(token),
      expires_at === null ? null : new Date(expires_at),
    ]);
    const id = String(insertId);
    await record(sql, operator, { action: 'create', id, detail: `${title}, ${role}` });
    return { id, token };
  });
}

/** Deletes a token. @throws {Problem} 404. */
export function deleteToken(database: DataSource, operator: Operator, id: string): Promise<void> {
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>('DELETE FROM operator_tokens WHERE id = ?', [id]);
    if (affectedRows === 0) throw notFound('token');
    await record(sql, operator, { action: 'delete', id });
  });
}

const record = (
  sql: Sql,
  operator: Operator,
  { id, ...change }: { action: string; id: string; detail?: string },
): Promise<void> =>
  recordChange(sql, byOperator(operator, null), { ...change, subject: `operator token ${id}` });

/** Index: operator_tokens_hash. Looks up tokens by their SHA-256 and never compares them byte by byte. */
const FIND = `
  SELECT id, CONCAT(prefix, '… ', title) AS name, role, (last_used_at IS NULL OR last_used_at < NOW(6) - INTERVAL 1 MINUTE) AS unused
  FROM operator_tokens WHERE token_hash = ? AND (expires_at IS NULL OR expires_at > NOW(6))`;

const SET_LAST_USED = 'UPDATE operator_tokens SET last_used_at = NOW(6) WHERE id = ?';

/** Finds the operator of a token. @returns null for a token that is unknown or has expired. */
export async function findTokenOperator(sql: Sql, digest: Buffer): Promise<Operator | null> {
  const [found] = await sql.query<
    { id: string; name: string; role: OperatorRole; unused: number | string }[]
  >(FIND, [digest]);
  if (found === undefined) return null;
  // Not awaited. If it fails, the token's next use writes it.
  if (Number(found.unused) === 1) sql.query(SET_LAST_USED, [found.id]).catch(() => {});
  return { source: 'operator token', name: found.name, role: found.role };
}
