import { describe, expect, it } from 'vitest';
import { isContained, parseMariadb } from '../../../src/database/cluster/gtids.ts';
import {
  galeraState,
  groupState,
  type HostState,
  type Member,
} from '../../../src/database/cluster/host-state.ts';
import { choosePrimary } from '../../../src/database/cluster/primary.ts';

const alone: HostState = { kind: 'writable', cluster: null, isShared: false };
const member = { startsWritable: false };
const primaryOfGroup: HostState = { kind: 'writable', cluster: 'one', isShared: false, member };
const node: HostState = { kind: 'writable', cluster: 'one', isShared: true };
const stranger: HostState = { kind: 'writable', cluster: 'two', isShared: true };
const donor: HostState = { kind: 'donor' };
const closed: HostState = { kind: 'closed', reason: 'is read-only' };
const silent: HostState = { kind: 'silent', reason: 'cannot be reached', isLate: false };

describe('the choice of the primary database host', () => {
  it.each<[string, HostState[], number | null, number | null, number[]?]>([
    ['the only host that takes writes', [closed, alone, silent], null, 1],
    ['another host as soon as that host takes writes', [silent, closed, alone], 0, 2],
    ['the first node that is in sync', [closed, node, node], null, 1],
    ['the first node again when it has come back', [node, node, node], 1, 0],
    ['no node that copies its data to another node', [donor, node, silent], 0, 1],
    ['a node that copies its data if there is no other node', [donor, silent, closed], 1, 0],
    ['the same host while it does not answer and no other host takes writes', [silent, closed, closed], 0, 0],
    ['no host when the primary takes no more writes', [closed, silent, silent], 0, null],
    ['no host of two that each lack transactions of the other', [alone, alone], null, null, []],
    ['no host of two that each lack transactions, even if one is in use', [alone, alone], 1, null, []],
    ['the host that has all transactions of the other one', [alone, alone], 0, 1, [1]],
    ['the same host if both have the same transactions', [alone, alone], 1, 1, [0, 1]],
    ['no host if both have the same transactions and none is in use', [alone, alone], null, null, [0, 1]],
    ['the promoted host outside its former group', [primaryOfGroup, alone], 0, 1, [1]],
    ['no host of two clusters', [node, stranger], null, null],
    [
      'no host of two that both claim to lead the group',
      [primaryOfGroup, primaryOfGroup],
      null,
      null,
      [0, 1],
    ],
    ['no host when a former primary also claims to lead', [primaryOfGroup, primaryOfGroup], 1, null, [0, 1]],
  ])('is %s', (_, states, current, chosen, complete = []) => {
    expect(choosePrimary(states, current, complete)).toBe(chosen);
  });
});

describe('the state of a database host', () => {
  const galera = (status: Record<string, string>) =>
    galeraState({
      wsrep_ready: 'ON',
      wsrep_cluster_status: 'Primary',
      wsrep_local_state: '4',
      wsrep_local_state_comment: 'Synced',
      wsrep_cluster_state_uuid: 'one',
      read_only: 'OFF',
      ...status,
    });
  const inGroup = (members: Member[], settings = {}) =>
    groupState(members, {
      group_replication_group_name: 'one',
      read_only: '0',
      super_read_only: '0',
      group_replication_single_primary_mode: '1',
      read_only_source: 'EXPLICIT',
      ...settings,
    });
  const primary = { state: 'ONLINE', role: 'PRIMARY', is_own: 1 };
  const other = (state: string): Member => ({ state, role: 'SECONDARY', is_own: 0 });

  it.each<[string, () => HostState, object]>([
    ['in sync with its Galera cluster takes writes', () => galera({}), node],
    ['that copies its data is a donor', () => galera({ wsrep_local_state: '2' }), donor],
    [
      'that joins its cluster does not take writes',
      () => galera({ wsrep_local_state: '1', wsrep_local_state_comment: 'Joining' }),
      { kind: 'closed', reason: 'is not in sync with its Galera cluster (Joining)' },
    ],
    [
      'outside the primary component does not take writes',
      () => galera({ wsrep_cluster_status: 'non-Primary' }),
      { kind: 'closed', reason: 'has lost the majority of its Galera cluster' },
    ],
    [
      'that is the primary of a group takes writes',
      () => inGroup([primary, other('ONLINE')]),
      primaryOfGroup,
    ],
    [
      'that is a primary without a majority does not take writes',
      () => inGroup([primary, other('UNREACHABLE'), other('UNREACHABLE')]),
      { kind: 'closed', reason: 'has lost the majority of its group', member },
    ],
    [
      'that was started outside its group does not take writes',
      () => inGroup([{ ...primary, state: 'OFFLINE', role: '' }]),
      { kind: 'closed', reason: 'is not an online member of its group (OFFLINE)', member },
    ],
    [
      'that is a secondary does not take writes',
      () =>
        inGroup([
          { ...primary, role: 'SECONDARY' },
          { ...other('ONLINE'), role: 'PRIMARY' },
        ]),
      { kind: 'closed', reason: 'is a secondary of its group', member },
    ],
    [
      'whose settings do not say super_read_only starts writable',
      () => inGroup([primary, other('ONLINE')], { read_only_source: 'DYNAMIC' }),
      { ...primaryOfGroup, member: { startsWritable: true } },
    ],
    [
      'in a group with several primaries is unfit',
      () => inGroup([primary], { group_replication_single_primary_mode: '0' }),
      { kind: 'unfit', reason: expect.stringContaining('switch_to_single_primary_mode()'), member },
    ],
  ])('is read correctly: a host %s', (_, read, state) => {
    expect(read()).toEqual(state);
  });
});

describe('the transactions of MariaDB hosts', () => {
  it.each<[string, string, string, boolean]>([
    ['are contained in a promoted replica', '0-1-100', '0-1-100,0-2-101', true],
    ['are not contained where the replica lacks the last one', '0-1-100', '0-1-99,0-2-101', false],
    ['are not contained in another server that has higher numbers', '0-1-100', '0-2-500', false],
    ['are contained in themselves', '0-1-100,1-1-7', '1-1-7,0-1-100', true],
    ['are not contained without one of their domains', '0-1-100,1-1-7', '0-1-100', false],
  ])('%s', (_, gtids, within, isIt) => {
    expect(isContained(parseMariadb(gtids), parseMariadb(within))).toBe(isIt);
  });
});
