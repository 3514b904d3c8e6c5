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
 * `reason` is a text that follows the host's name. `member`: of a member of a group of MySQL. A member that `startsWritable` takes
 * writes after its start, before it has found its group. Writes of that time exist on this member alone.
 */
export type HostState = (
  | { kind: 'writable'; cluster: string | null; isShared: boolean }
  | { kind: 'donor' }
  | { kind: 'closed' | 'unfit'; reason: string }
  | { kind: 'silent'; reason: string; isLate: boolean }
) & { member?: { startsWritable: boolean } };

/** Runs a statement on the host's own connection. */
export type Ask = <T>(statement: string) => Promise<T[]>;

interface NamedValue {
  Variable_name: string;
  Value: string;
}

const SETTINGS = `'read_only', 'super_read_only', 'wsrep_on', 'group_replication_group_name',
  'group_replication_single_primary_mode'`;
const GALERA = `'wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state', 'wsrep_local_state_comment',
  'wsrep_cluster_state_uuid'`;

/** Each server ignores the other's comment, and leaves out settings that it does not have. */
const READ_SETTINGS = `
  /*M!100100 SELECT VARIABLE_NAME AS Variable_name, VARIABLE_VALUE AS Value FROM information_schema.GLOBAL_VARIABLES
    WHERE VARIABLE_NAME IN (${SETTINGS})
  UNION ALL SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN (${GALERA}) */
  /*!80000 SHOW GLOBAL VARIABLES WHERE Variable_name IN (${SETTINGS}) */`;

/** A server that is in no group has one row, OFFLINE. Where the plugin is not loaded, its variables are unknown. */
const READ_MEMBERS = `
  SELECT member_state AS state, member_role AS role, member_id = @@server_uuid AS is_own,
    @@GLOBAL.group_replication_group_name AS group_replication_group_name, @@GLOBAL.read_only AS read_only,
    @@GLOBAL.super_read_only AS super_read_only, @@GLOBAL.group_replication_single_primary_mode AS group_replication_single_primary_mode,
    (SELECT variable_source FROM performance_schema.variables_info WHERE variable_name = 'super_read_only') AS read_only_source
  FROM performance_schema.replication_group_members`;

export interface Member {
  state: string;
  role: string;
  is_own: string | number;
}

/** The settings of the member that was asked. Each row repeats them. */
interface GroupSettings {
  group_replication_group_name: string;
  group_replication_single_primary_mode: string | number;
  read_only: string | number;
  super_read_only: string | number;
  read_only_source: string | null;
}

const ER_TABLEACCESS_DENIED = 1142;
export const ER_UNKNOWN_SYSTEM_VARIABLE = 1193;
const errnoOf = (error: unknown): number => Number((error as NodeJS.ErrnoException).errno);

/**
 * Asks a host for its state: one statement, or two the first time for a member of a group.
 * @param isMember the host was a member of a group of MySQL when it was asked last.
 * @throws when the host cannot be reached.
 */
export async function readHostState(ask: Ask, isMember: boolean): Promise<HostState> {
  if (isMember) {
    try {
      return await readMember(ask);
    } catch (error) {
      // The host was started again without the group.
      if (errnoOf(error) !== ER_UNKNOWN_SYSTEM_VARIABLE) throw error;
    }
  }
  const settings = byName(await ask<NamedValue>(READ_SETTINGS));
  if (isOn(settings.wsrep_on)) return galeraState(settings);
  if ((settings.group_replication_group_name ?? '') !== '') return readMember(ask);
  return isReadOnly(settings) ? READ_ONLY : { kind: 'writable', cluster: null, isShared: false };
}

async function readMember(ask: Ask): Promise<HostState> {
  try {
    const members = await ask<Member & GroupSettings>(READ_MEMBERS);
    const [settings] = members;
    if (settings === undefined) return { kind: 'closed', reason: 'does not know of its group' };
    return groupState(members, byText(settings));
  } catch (error) {
    if (errnoOf(error) !== ER_TABLEACCESS_DENIED) throw error;
    return {
      kind: 'unfit',
      reason:
        'does not say who is in its group: GRANT SELECT ON performance_schema.replication_group_members to the user in DATABASE_URL',
    };
  }
}

const READ_ONLY: HostState = { kind: 'closed', reason: 'is read-only' };

const byName = (rows: readonly NamedValue[]): Settings =>
  Object.fromEntries(rows.map(({ Variable_name, Value }) => [Variable_name.toLowerCase(), Value]));

const byText = (settings: object): Settings =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));

const isOn = (value: string | undefined): boolean => value === 'ON' || value === '1';

type Settings = Record<string, string | undefined>;

const isReadOnly = ({ read_only, super_read_only }: Settings): boolean =>
  isOn(read_only) || isOn(super_read_only);

/**
 * A node may be written if it is in sync and part of the primary component
 * (https://galeracluster.com/library/documentation/monitoring-cluster.html). In wsrep_local_state, 2 is a donor and 4 is synced.
 */
export function galeraState(settings: Settings): HostState {
  const { wsrep_local_state: state, wsrep_local_state_comment: comment } = settings;
  if (settings.wsrep_cluster_status !== 'Primary')
    return { kind: 'closed', reason: 'has lost the majority of its Galera cluster' };
  if (!isOn(settings.wsrep_ready) || (state !== '2' && state !== '4'))
    return { kind: 'closed', reason: `is not in sync with its Galera cluster (${comment})` };
  if (isReadOnly(settings)) return READ_ONLY;
  if (state === '2') return { kind: 'donor' };
  return { kind: 'writable', cluster: settings.wsrep_cluster_state_uuid ?? '', isShared: true };
}

/**
 * A primary that has lost the majority still calls itself the primary and takes writes, but their commits wait. Another primary may
 * be active. The same is possible after a primary was frozen, because the group does not wait for it. Until the former primary
 * notices, both call themselves the primary.
 */
export function groupState(members: readonly Member[], settings: Settings): HostState {
  const member = { startsWritable: MAY_START_WRITABLE.has(settings.read_only_source ?? '') };
  const closed = (reason: string): HostState => ({ kind: 'closed', reason, member });
  if (!isOn(settings.group_replication_single_primary_mode))
    return {
      kind: 'unfit',
      reason:
        'is in a group with several primaries, and Ledgerbell needs one: SELECT group_replication_switch_to_single_primary_mode()',
      member,
    };
  const own = members.find(({ is_own }) => Number(is_own) === 1);
  if (own === undefined || own.state !== 'ONLINE')
    return closed(`is not an online member of its group (${own?.state ?? 'OFFLINE'})`);
  const reachable = members.filter(({ state }) => state !== 'UNREACHABLE').length;
  if (2 * reachable <= members.length) return closed('has lost the majority of its group');
  if (own.role !== 'PRIMARY') return closed('is a secondary of its group');
  if (isReadOnly(settings)) return closed('is read-only');
  return { kind: 'writable', cluster: settings.group_replication_group_name ?? '', isShared: false, member };
}

/**
 * Where super_read_only comes from if no settings of the server give it (VARIABLE_SOURCE,
 * https://dev.mysql.com/doc/refman/9.4/en/performance-schema-variables-info-table.html). The group changes it at run time: that counts
 * as DYNAMIC only if it was not on at the start.
 */
const MAY_START_WRITABLE = new Set(['COMPILED', 'DYNAMIC']);
