import { randomBytes } from 'node:crypto';
import { runCommand } from '../../../src/servers/embedded/command.ts';
import { findFirst, installPackages } from '../../../src/servers/embedded/provision.ts';

/** The account of a node's process. Accounts differ by their group, by which the firewall tells whose connection one is. */
export interface Identity {
  uid: number;
  gid: number;
}

/** Accounts that no user of the machine has. */
const FIRST_ID = 61_500;

export const createIdentities = (count: number): (Identity | null)[] =>
  Array.from({ length: count }, (_, index) =>
    process.getuid?.() === 0 ? { uid: FIRST_ID, gid: FIRST_ID + index } : null,
  );

/** Cuts nodes off from the other nodes of their cluster. */
export interface Isolation {
  /** @param indexes of the nodes. */
  cutOff(indexes: readonly number[]): Promise<void>;
  reconnect(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Rules of nftables for the connections between nodes: each is marked with a node when it opens, and is dropped in both directions while
 * the mark's node is cut off. A connection between two nodes has the mark of both.
 * @param groupPorts of each node, at which the other nodes reach it.
 */
export async function createIsolation(
  accounts: readonly Identity[],
  groupPorts: readonly (readonly number[])[],
): Promise<Isolation> {
  if ((await findFirst(['nft'])) === null) await installPackages(['nftables']);
  const table = `ledgerbell_${randomBytes(4).toString('hex')}`;
  const markOf = (index: number) => 1 << index;
  const all = groupPorts.flat().join(', ');
  await nft(`
    table inet ${table} {
      chain marking {
        type filter hook output priority -10;
        ${accounts.map(({ gid }, i) => `meta skgid ${gid} tcp dport { ${all} } ct mark set ct mark | ${markOf(i)};`).join('\n')}
        ${groupPorts.map((ports, i) => `tcp dport { ${ports.join(', ')} } ct mark set ct mark | ${markOf(i)};`).join('\n')}
      }
      chain cutting { type filter hook output priority 0; }
    }`);
  const reconnect = () => nft(`flush chain inet ${table} cutting`);
  return {
    async cutOff(indexes) {
      const rules = indexes.map(
        (index) =>
          `add rule inet ${table} cutting meta l4proto tcp ct mark & ${markOf(index)} == ${markOf(index)} drop`,
      );
      await nft(rules.join('\n'));
    },
    reconnect,
    remove: () => nft(`delete table inet ${table}`),
  };
}

async function nft(rules: string): Promise<void> {
  const { ok, output } = await runCommand('nft', [rules]);
  if (!ok) throw new Error(`nft refuses the rules: ${output}`);
}
