import type { Caller } from '../../http/environment.ts';
import { Problem } from '../../http/problem.ts';

/** The API secret is part of the hash of every account's movements. @throws {Problem} 403 for a key limited to accounts. */
export function requireWholeKey({ accountIds }: Caller): void {
  if (accountIds !== 'all') {
    throw new Problem(
      'forbidden',
      'This API key is limited to some accounts: the API secret is for keys that see all.',
    );
  }
}
