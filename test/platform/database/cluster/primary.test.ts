import { describe, expect, it } from 'vitest';
import {
  galeraState,
  groupState,
  type HostState,
  type Member,
} from '../../../../src/platform/database/cluster/host-state.ts';
import { choosePrimary } from '../../../../src/platform/database/cluster/primary.ts';

const alone: HostState = { kind: 'writable', cluster: null, isShared: false };
const primaryOfGroup: HostState = { kind: 'writable', cluster: 'one', isShared: false };
const node: HostState = { kind: 'writable', cluster: 'one', isShared: true };
const stranger: HostState = { kind: 'writable', cluster: 'two', isShared: true };
const donor: HostState = { kind: 'donor' };
const closed: HostState = { kind: 'closed', reason: 'is read-only' };
const silent: HostState = { kind: 'silent', reason: 'cannot be reached', isLate: false };

describe('the choice of the primary database host', () => {
  it.each<[string, HostState[], number | null, number | null]>([
    ['the only host that takes writes', [closed, alone, silent], null, 1],
    ['another host as soon as that host takes writes', [silent, closed, alone], 0, 2],
    ['the first node that is in sync', [closed, node, node], null, 1],
    ['the first node again when it has come back', [node, node, node], 1, 0],
    ['no node that copies its data to another node', [donor, node, silent], 0, 1],
    ['a node that copies its data if there is no other node', [donor, silent, closed], 1, 0],
    ['the same host while it does not answer and no other host takes writes', [silent, closed, closed], 0, 0],
    ['no host when the primary takes no more writes', [closed, silent, silent], 0, null],
    ['no host of two that know nothing of each other', [alone, alone], null, null],
    ['no host of two clusters', [node, stranger], null, null],
    ['no host of two that both claim to lead the group', [primaryOfGroup, primaryOfGroup], null, null],
    ['the same host when a former primary also claims to lead', [primaryOfGroup, primaryOfGroup], 1, 1],
    ['the same host when a second host takes writes', [alone, alone], 1, 1],
  ])('is %s', (_, states, current, chosen) => {
    expect(choosePrimary(states, current)).toBe(chosen);
  });
});

describe('the state of a database host', () => {
  const galera = (status: Record<string, string>) =>
    galeraState(
      {
        wsrep_ready: 'ON',
        wsrep_cluster_status: 'Primary',
        wsrep_local_state: '4',
        wsrep_local_state_comment: 'Synced',
        wsrep_cluster_state_uuid: 'one',
        ...status,
      },
      { read_only: 'OFF' },
    );
  const member = (members: Member[], settings = {}) =>
    groupState(
      members,
      { read_only: 'OFF', super_read_only: 'OFF', group_replication_single_primary_mode: 'ON', ...settings },
      'one',
    );
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
    ['that is the primary of a group takes writes', () => member([primary, other('ONLINE')]), primaryOfGroup],
    [
      'that is a primary without a majority does not take writes',
      () => member([primary, other('UNREACHABLE'), other('UNREACHABLE')]),
      { kind: 'closed', reason: 'has lost the majority of its group' },
    ],
    [
      'that was started outside its group does not take writes',
      () => member([{ ...primary, state: 'OFFLINE', role: '' }]),
      { kind: 'closed', reason: 'is not an online member of its group (OFFLINE)' },
    ],
    [
      'that is a secondary does not take writes',
      () =>
        member([
          { ...primary, role: 'SECONDARY' },
          { ...other('ONLINE'), role: 'PRIMARY' },
        ]),
      { kind: 'closed', reason: 'is a secondary of its group' },
    ],
    [
      'in a group with several primaries is unfit',
      () => member([primary], { group_replication_single_primary_mode: 'OFF' }),
      { kind: 'unfit', reason: expect.stringContaining('switch_to_single_primary_mode()') },
    ],
  ])('is read correctly: a host %s', (_, read, state) => {
    expect(read()).toEqual(state);
  });
});
