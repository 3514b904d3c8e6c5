import * as v from 'valibot';
import { hasAccount } from '../accounts/has-account.ts';
import type { AddressGuard } from '../addresses/address-guard.ts';
import { KINDS, kindOf, type SourcePlace } from '../collecting/connectors/kinds.ts';
import { customerFolder } from '../collecting/customer-folder.ts';
import type { Caller } from '../http/environment.ts';
import { check } from '../http/input.ts';
import { invalid } from '../http/problem.ts';
import type { Runtime } from '../runtime.ts';

const SAME = `
  SELECT id FROM sources WHERE customer_id = ? AND kind = ? AND status <> 'deleted' AND settings = ? AND id <> ? LIMIT 1`;

/** Checks of what a client says about a source that need more than a schema. Each throws a Problem 422. */
export interface SourceChecks {
  /** The account must be one of the caller's. */
  requireAccount(accountId: string | null): Promise<void>;
  /**
   * @param source.id '0' for one that is still to be created.
   * @returns the settings as they are stored.
   */
  requireSettings(source: { id: string; kind: string; settings: object }): Promise<string>;
  /** @returns the credentials as they are sealed; null: none. */
  requireCredentials(kind: string, credentials: object | null | undefined): string | null;
}

export function createSourceChecks(
  { config, database }: Pick<Runtime, 'config' | 'database'>,
  guard: AddressGuard,
  caller: Caller,
): SourceChecks {
  const { customerId } = caller;
  const place: SourcePlace = { guard, folder: customerFolder(config.sourcesDir, customerId) };
  return {
    async requireAccount(accountId) {
      if (accountId !== null && !(await hasAccount(database, caller, accountId)))
        throw invalid([{ path: 'account_id', message: 'is not one of your accounts' }]);
    },
    async requireSettings({ id, kind: name, settings: sent }) {
      const kind = kindOf(KINDS, name);
      const { settings } = check(v.object({ settings: kind.Settings }), { settings: sent });
      const refusal = await kind.check(settings, place);
      if (refusal !== null)
        throw invalid([{ path: 'settings', message: `are not allowed: ${refusal.replace(/\.$/, '')}` }]);
      const stored = JSON.stringify(settings);
      if (kind.isExclusive) {
        const [other] = await database.query<{ id: string }[]>(SAME, [customerId, name, stored, id]);
        if (other !== undefined)
          throw invalid([{ path: 'settings', message: `are those of source ${other.id} already` }]);
      }
      return stored;
    },
    requireCredentials(kind, sent) {
      const { Credentials } = kindOf(KINDS, kind);
      const { credentials } = check(v.object({ credentials: Credentials }), {
        credentials: sent ?? undefined,
      });
      return credentials === null || credentials === undefined ? null : JSON.stringify(credentials);
    },
  };
}
