import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { hasAccount } from '../accounts/has-account.ts';
import type { ConnectorKind, SourcePlace } from '../collecting/connectors/kinds.ts';
import type { Caller } from '../http/environment.ts';
import { check } from '../http/input.ts';
import { invalid } from '../http/problem.ts';

/** Checks of what a client sends that need more than a schema. */

const SAME = `
  SELECT id FROM sources WHERE customer_id = ? AND kind = ? AND status <> 'deleted' AND settings = ? AND id <> ? LIMIT 1`;

/**
 * Checks the settings of a source.
 * @param source.id '0' for one that is still to be created.
 * @returns the settings as they are stored.
 * @throws {Problem} 422.
 */
export async function requireSettings(
  database: DataSource,
  source: { id: string; customerId: string; kind: string; settings: object },
  { Settings, isExclusive, ...kind }: ConnectorKind,
  place: SourcePlace,
): Promise<string> {
  const { settings } = check(v.object({ settings: Settings }), { settings: source.settings });
  const refusal = await kind.check(settings, place);
  if (refusal !== null)
    throw invalid([{ path: 'settings', message: `are not allowed: ${refusal.replace(/\.$/, '')}` }]);
  const stored = JSON.stringify(settings);
  if (isExclusive) {
    const values = [source.customerId, source.kind, stored, source.id];
    const [other] = await database.query<{ id: string }[]>(SAME, values);
    if (other !== undefined)
      throw invalid([{ path: 'settings', message: `are those of source ${other.id} already` }]);
  }
  return stored;
}

/** Checks the credentials of a source. @returns them as they are sealed; null: none. @throws {Problem} 422. */
export function requireCredentials(
  { Credentials }: ConnectorKind,
  credentials: object | null | undefined,
): string | null {
  const parsed = check(v.object({ credentials: Credentials }), { credentials: credentials ?? undefined });
  const { credentials: accepted } = parsed;
  return accepted === null || accepted === undefined ? null : JSON.stringify(accepted);
}

/** @throws {Problem} 422 when the account is not one of the caller's. */
export async function requireSourceAccount(
  database: DataSource,
  caller: Caller,
  accountId: string | null,
): Promise<void> {
  if (accountId !== null && !(await hasAccount(database, caller, accountId)))
    throw invalid([{ path: 'account_id', message: 'must be null, or the id of one of your accounts' }]);
}
