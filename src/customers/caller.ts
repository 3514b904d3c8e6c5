import { Problem } from '../platform/problem.ts';

/**
 * Somebody who acts for a customer without an API key: a person at the command line or at the console, by name, or a variable of the
 * configuration.
 */
export interface Operator {
  source: 'console' | 'command line' | 'configuration';
  name: string;
}

/** The customer and the API key of a request. */
export interface Caller {
  customerId: string;
  apiKeyId: string;
  /** The accounts that the key may see. */
  accountIds: 'all' | readonly string[];
  scopes: readonly Scope[];
  /** Set if no API key is used. */
  operator?: Operator;
}

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
