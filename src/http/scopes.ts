import type { Caller } from './environment.ts';
import { Problem } from './problem.ts';

/** What an API key may be limited to: reading; sending movements; changing webhooks; accounts, API keys and the API secret. */
export const SCOPES = ['read', 'import', 'webhooks', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** As `api_keys.scopes` has them: separated by commas. */
export const parseScopes = (text: string): Scope[] =>
  text.split(',').filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope));

/** @throws {Problem} 403 when the caller's API key lacks the scope. */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.includes(scope))
    throw new Problem('missing-scope', `This API key lacks the scope "${scope}". Use a key that has it.`);
}
