import { hasAccount } from '../customers/accounts.ts';
import type { Caller } from '../customers/caller.ts';
import type { AddressGuard } from '../platform/addresses/address-guard.ts';
import { SEALED, type SecretBox } from '../platform/database/secret-box.ts';
import { invalid, Problem } from '../platform/problems/problem.ts';
import type { Runtime } from '../platform/runtime.ts';

/** Checks an endpoint. @returns the endpoint as it is stored. @throws {Problem} 422 when the guard refuses it. */
export async function requireEndpoint(guard: AddressGuard, endpoint: string): Promise<string> {
  const url = new URL(endpoint);
  const refusal = await guard.checkEndpoint(url);
  if (refusal !== null) {
    const message = `is not allowed: ${refusal.replace(/\.$/, '')}`;
    throw new Problem('endpoint-refused', `endpoint ${message}.`, {
      errors: [{ path: 'endpoint', message }],
    });
  }
  return url.href;
}

/**
 * Checks the rules for a webhook that is sent operational events: they concern no account, and have members within members.
 * @throws {Problem} 422.
 */
export function requireOperationalFields(webhook: {
  event: string;
  account: string;
  encoding: string;
}): void {
  if (webhook.event !== 'OPERATIONAL') return;
  if (webhook.account !== 'all')
    throw invalid([{ path: 'account', message: 'must be "all" if the event is OPERATIONAL' }]);
  if (webhook.encoding !== 'json')
    throw invalid([{ path: 'encoding', message: 'must be "json" if the event is OPERATIONAL' }]);
}

/** A webhook's custom headers as they are stored; null: none. */
export function sealHeaders(
  secrets: SecretBox,
  webhookId: string,
  headers: Record<string, string>,
): string | null {
  return Object.keys(headers).length > 0
    ? secrets.seal(JSON.stringify(headers), SEALED.webhookHeaders(webhookId))
    : null;
}

/**
 * Checks the account of a webhook.
 * @returns the account's id; null: all. Another customer's account is as unknown as one that does not exist.
 * @throws {Problem} 422, or 403 when a limited key asks for all.
 */
export async function requireAccount(
  database: Runtime['database'],
  caller: Caller,
  account: string,
): Promise<string | null> {
  if (account === 'all') {
    if (caller.accountIds !== 'all') {
      throw new Problem(
        'limited-api-key',
        'This API key is limited to some accounts, so its webhooks cannot be for "all". Name one of its accounts.',
      );
    }
    return null;
  }
  if (!(await hasAccount(database, caller, account)))
    throw invalid([{ path: 'account', message: 'must be "all", or the id of one of your accounts' }]);
  return account;
}
