import type { Caller } from './environment.ts';
import { Problem } from './problem.ts';

/**
 * Protects operations that concern the customer as a whole.
 * @param remedy completes the sentence that begins with "This API key is limited to some accounts:".
 * @throws {Problem} 403 for a key limited to accounts.
 */
export function requireWholeKey({ accountIds }: Caller, remedy: string): void {
  if (accountIds !== 'all')
    throw new Problem('forbidden', `This API key is limited to some accounts: ${remedy}`);
}
