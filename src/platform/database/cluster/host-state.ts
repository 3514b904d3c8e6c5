/**
 * The state of one of several hosts, as the host reports it:
 *
 * - `writable`: takes writes. `cluster`: the cluster that the host belongs to; null: none. `isShared`: other members take writes
 *   too.
 * - `donor`: a node of Galera that takes writes while it copies its data to another node.
 * - `closed`: may not be written now.
 * - `silent`: cannot be reached. `isLate`: the host, or this process, may only be slow.
 * - `unfit`: is set up in a way that Ledgerbell cannot use. A person has to change that.
 *
 * `reason` is a text that follows the host's name.
 */
export type HostState =
  | { kind: 'writable'; cluster: string | null; isShared: boolean }
  | { kind: 'donor' }
  | { kind: 'closed' | 'unfit'; reason: string }
  | { kind: 'silent'; reason: string; isLate: boolean };

/** Runs a statement on the host's own connection. */
export type Ask = <T>(statement: string) => Promise<T[]>;

interface NamedValue {
  Variable_name: string;
  Value: string;
}

/** SHOW accepts all these names on every server. It leaves out settings that the server does not have. */
const SETTINGS = `
  SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'wsrep_on', 'group_replication_group_name',
    'group_replication_single_primary_mode')`;

const GALERA = `
  SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state', 'wsrep_local_state_comment',
    'wsrep_cluster_state_uuid')`;

/** A server that is in no group has one row, OFFLINE. */
const MEMBERS = `
  SELECT member_state AS state, member_role AS role, member_id = @@server_uuid AS is_own
  FROM performance_schema.replication_group_members`;

export interface Member {
  state: string;
  role: string;
  is_own: string | number;
}

const ER_TABLEACCESS_DENIED = 1142;

/** Asks a host for its state. @throws when it cannot be reached. */
export async function readHostState(ask: Ask): Promise<HostState> {
  const settings = byName(await ask<NamedValue>(SETTINGS));
  if (isOn(settings.wsrep_on)) return galeraState(byName(await ask<NamedValue>(GALERA)), settings);
  const group = settings.group_replication_group_name ?? '';
  if (group === '')
    return isReadOnly(settings) ? READ_ONLY : { kind: 'writable', cluster: null, isShared: false };
  try {
    return groupState(await ask<Member>(MEMBERS), settings, group);
  } catch (error) {
    if (Number((error as NodeJS.ErrnoException).errno) !== ER_TABLEACCESS_DENIED) throw error;
    return {
      kind: 'unfit',
      reason:
        'does not say who is in its group: GRANT SELECT ON performance_schema.replication_group_members to the user in DATABASE_URL',
    };
  }
}

const READ_ONLY: HostState = { kind: 'closed', reason: 'is read-only' };

const byName = (rows: readonly NamedValue[]): Record<string, string | undefined> =>
  Object.fromEntries(rows.map(({ Variable_name, Value }) => [Variable_name, Value]));

const isOn = (value: string | undefined): boolean => value === 'ON' || value === '1';

type Settings = Record<string, string | undefined>;

const isReadOnly = ({ read_only, super_read_only }: Settings): boolean =>
  isOn(read_only) || isOn(super_read_only);

/**
 * A node may be written if it is in sync and part of the primary component
 * (https://galeracluster.com/library/documentation/monitoring-cluster.html). In wsrep_local_state, 2 is a donor and 4 is synced.
 */
export function galeraState(status: Settings, settings: Settings): HostState {
  const { wsrep_local_state: state, wsrep_local_state_comment: comment } = status;
  if (status.wsrep_cluster_status !== 'Primary')
    return { kind: 'closed', reason: 'has lost the majority of its Galera cluster' };
  if (!isOn(status.wsrep_ready) || (state !== '2' && state !== '4'))
    return { kind: 'closed', reason: `is not in sync with its Galera cluster (${comment})` };
  if (isReadOnly(settings)) return READ_ONLY;
  if (state === '2') return { kind: 'donor' };
  return { kind: 'writable', cluster: status.wsrep_cluster_state_uuid ?? '', isShared: true };
}

/**
 * A primary that has lost the majority still calls itself the primary and takes writes, but their commits wait. Another primary may
 * be active. The same is possible after a primary was frozen, because the group does not wait for it. Until the former primary
 * notices, both call themselves the primary.
 */
export function groupState(members: readonly Member[], settings: Settings, group: string): HostState {
  if (!isOn(settings.group_replication_single_primary_mode))
    return {
      kind: 'unfit',
      reason:
        'is in a group with several primaries, and Ledgerbell needs one: SELECT group_replication_switch_to_single_primary_mode()',
    };
  const own = members.find(({ is_own }) => Number(is_own) === 1);
  if (own === undefined || own.state !== 'ONLINE')
    return { kind: 'closed', reason: `is not an online member of its group (${own?.state ?? 'OFFLINE'})` };
  const reachable = members.filter(({ state }) => state !== 'UNREACHABLE').length;
  if (2 * reachable <= members.length)
    return { kind: 'closed', reason: 'has lost the majority of its group' };
  if (own.role !== 'PRIMARY') return { kind: 'closed', reason: 'is a secondary of its group' };
  return isReadOnly(settings) ? READ_ONLY : { kind: 'writable', cluster: group, isShared: false };
}
