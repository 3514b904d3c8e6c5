import { Problem } from '../platform/problem.ts';

/** What operators may do. A viewer reads, and sees no secret. An operator also changes things. An admin also manages operators' tokens. */
export const OPERATOR_ROLES = ['viewer', 'operator', 'admin'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/**
 * Somebody who acts without an API key: an operator's token, a person at the command line or at the console, by name, or a variable of the
 * configuration.
 */
export interface Operator {
  source: 'operator token' | 'console' | 'command line' | 'configuration';
  name: string;
  role: OperatorRole;
}

/** Who makes a request or a change: an API key, or an operator. */
export type Actor = { apiKeyId: string } | Operator;

/** Says whether an operator acts, and not an API key. */
export const isOperator = (actor: Actor): actor is Operator => 'source' in actor;

/** Who calls, for which customer, and with which rights. */
export interface Caller {
  customerId: string;
  actor: Actor;
  /** The accounts that the actor may see. */
  accountIds: 'all' | readonly string[];
  scopes: readonly Scope[];
}

/** The rights of an operator for a customer: those of an API key for all accounts with every scope. The operator's role limits them further. */
export const actFor = (customerId: string, actor: Operator): Caller => ({
  customerId,
  actor,
  accountIds: 'all',
  scopes: SCOPES,
});

/** The API key of an actor. null: an operator acts. */
export const apiKeyOf = (actor: Actor): string | null => (isOperator(actor) ? null : actor.apiKeyId);

/** Says whether a caller's key may see an account of its customer. */
export const maySee = ({ accountIds }: Caller, accountId: string): boolean =>
  accountIds === 'all' || accountIds.includes(accountId);

/**
 * The caller's accounts for `account_id IN (?)`. Returns [null] instead of an empty list, because `IN ()` is not valid SQL and `IN (NULL)`
 * matches nothing. A key for all accounts does not need the condition.
 */
export const visibleAccounts = ({ accountIds }: Pick<Caller, 'accountIds'>): readonly (string | null)[] =>
  accountIds === 'all' || accountIds.length === 0 ? [null] : accountIds;

/** The scopes of an API key. import: sending movements. webhooks: changing webhooks. admin: accounts, API keys and the API secret. */
export const SCOPES = ['read', 'import', 'webhooks', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Parses the scopes in `api_keys.scopes`, which are separated by commas. */
export const parseScopes = (text: string): Scope[] =>
  text.split(',').filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope));

/** @throws {Problem} 403 when the caller's API key lacks the scope. */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.includes(scope))
    throw new Problem('missing-scope', `This API key lacks the scope "${scope}". Use a key that has it.`);
}
