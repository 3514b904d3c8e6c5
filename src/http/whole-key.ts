import type { Caller } from './environment.ts';
import { Problem } from './problem.ts';

/**
 * Protects operations that concern the customer as a whole.
 * @param remedy a sentence that says what to do instead.
 * @throws {Problem} 403 for a key limited to accounts.
 */
export function requireWholeKey({ accountIds }: Caller, remedy: string): void {
  if (accountIds !== 'all')
    throw new Problem('limited-api-key', `This API key is limited to some accounts. ${remedy}`);
}
