import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { provide } from '../../src/servers/embedded/provision.ts';
import { tell } from '../servers/embedded/clients.ts';
import { reservePort } from './reserved-port.ts';
import { until } from './until.ts';

const HOST = '127.0.0.1';
const MASTERS = 3;
const SLOTS = 16_384;

/** Three masters of Redis or Valkey, which have all slots, each with a replica. */
export interface RedisCluster {
  url: string;
  /** Of all six nodes. */
  ports: readonly number[];
  slotOf(key: string): Promise<number>;
  /** Ends a master as a crash does, the one that has this slot. It comes back as a replica, when its replica is the master. */
  replaceMaster(slot: number): Promise<void>;
  /** Moves slots with all their keys to another master than those that have them. */
  moveSlots(slots: readonly number[]): Promise<void>;
  /** Ends all nodes. */
  kill(): Promise<void>;
  /** Starts what was ended, and waits until the cluster answers for all slots. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Node {
  port: number;
  launch(): Promise<void>;
  kill(): Promise<void>;
}

/** Starts all six nodes, with their files in a folder. */
export async function startRedisCluster(directory: string): Promise<RedisCluster> {
  const { redis: binary } = await provide({ mysql: false, redis: true, install: 'auto', announce: () => {} });
  if (binary === undefined || binary === 'docker') throw new Error('Redis is needed as a program');
  const nodes: Node[] = [];
  for (let index = 0; index < 2 * MASTERS; index += 1) {
    const folder = join(directory, `redis-${index + 1}`);
    await mkdir(folder);
    nodes.push(createNode(binary, folder, { port: await reservePort(), bus: await reservePort() }));
  }
  const ports = nodes.map(({ port }) => port);
  const idOf = async (port: number) => String(await ask(port, 'CLUSTER', 'MYID'));
  const isReady = async (port: number) => {
    const info = String(await ask(port, 'CLUSTER', 'INFO'));
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${ports.length}`);
  };
  const allReady = async () =>
    (await Promise.all(ports.map((port) => isReady(port).catch(() => false)))).every(Boolean);
  /** The ports of the master that has a slot, and of its replicas. */
  async function ownersOf(slot: number): Promise<number[]> {
    for (const port of ports) {
      const ranges = (await ask(port, 'CLUSTER', 'SLOTS').catch(() => [])) as [
        number,
        number,
        ...[string, number][],
      ][];
      const range = ranges.find(([from, to]) => from <= slot && slot <= to);
      if (range !== undefined) return range.slice(2).map((it) => (it as [string, number])[1]);
    }
    throw new Error(`nobody has slot ${slot}`);
  }

  await Promise.all(nodes.map((node) => node.launch()));
  const [first = 0, ...others] = nodes;
  if (first === 0) throw new Error('no nodes');
  for (const [index, node] of nodes.slice(0, MASTERS).entries()) {
    const from = Math.floor((SLOTS * index) / MASTERS);
    const to = Math.floor((SLOTS * (index + 1)) / MASTERS) - 1;
    await ask(node.port, 'CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  for (const { port } of others) await ask(first.port, 'CLUSTER', 'MEET', HOST, port, busOf.get(port) ?? 0);
  await until('all nodes know each other', allReady, 60_000);
  for (const [index, node] of nodes.slice(MASTERS).entries())
    await ask(node.port, 'CLUSTER', 'REPLICATE', await idOf(ports[index] ?? 0));
  const hasReplica = async (slot: number) => (await ownersOf(slot)).length === 2;
  const whole = async () => {
    const each = ports.slice(0, MASTERS).map((_, index) => Math.floor((SLOTS * index) / MASTERS));
    return (
      (await allReady()) &&
      (await Promise.all(each.map((slot) => hasReplica(slot).catch(() => false)))).every(Boolean)
    );
  };
  await until('each master has a replica', whole, 60_000);

  return {
    url: `redis+cluster://${ports
      .slice(0, MASTERS)
      .map((port) => `${HOST}:${port}`)
      .join(',')}`,
    ports,
    async slotOf(key) {
      for (const port of ports) {
        const slot = await ask(port, 'CLUSTER', 'KEYSLOT', key).catch(() => null);
        if (slot !== null) return Number(slot);
      }
      throw new Error('no node answers');
    },
    async replaceMaster(slot) {
      const [master] = await ownersOf(slot);
      const node = nodes.find(({ port }) => port === master);
      await node?.kill();
      await until(
        'another master',
        async () => {
          const [now] = await ownersOf(slot).catch(() => [master]);
          return now !== master;
        },
        60_000,
      );
      await node?.launch();
      await until('the former master follows', async () => (await ownersOf(slot)).length === 2, 60_000);
    },
    async moveSlots(slots) {
      for (const slot of slots) {
        const third = Math.floor(SLOTS / MASTERS);
        const isMoved = async () => {
          const [source = 0] = await ownersOf(slot);
          const [target = 0] = await ownersOf((slot + third) % SLOTS);
          if (source !== target)
            await moveSlot(slot, {
              source,
              target,
              targetId: await idOf(target),
              sourceId: await idOf(source),
            });
          return true;
        };
        // A slot that is half moved when a master is lost would stay so until an operator repairs it.
        await until(`slot ${slot} is moved`, () => isMoved().catch(() => false), 60_000);
      }
    },
    kill: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
    async start() {
      await Promise.all(nodes.map((node) => node.launch()));
      await until('the cluster answers', allReady, 60_000);
    },
    stop: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
  };
}

/** By the port of the clients. */
const busOf = new Map<number, number>();

function createNode(binary: string, folder: string, { port, bus }: { port: number; bus: number }): Node {
  let child: ChildProcess | null = null;
  busOf.set(port, bus);
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  const options = {
    port,
    bind: HOST,
    dir: folder,
    save: '',
    'cluster-enabled': 'yes',
    'cluster-port': bus,
    'cluster-node-timeout': 2_000,
    'cluster-announce-ip': HOST,
    // A replica that has just started may take the place of its master.
    'cluster-replica-validity-factor': 0,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return {
    port,
    async launch() {
      if (isRunning()) return;
      child = spawn(binary, args, { stdio: 'ignore', cwd: folder });
      await until(`Redis at ${port}`, () => ask(port, 'PING').then(Boolean, () => false), 20_000);
    },
    async kill() {
      if (child === null || !isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** As `redis-cli --cluster reshard` does it: https://redis.io/docs/latest/commands/cluster-setslot/ */
async function moveSlot(
  slot: number,
  {
    source,
    target,
    sourceId,
    targetId,
  }: { source: number; target: number; sourceId: string; targetId: string },
): Promise<void> {
  await ask(target, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId);
  await ask(source, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId);
  for (;;) {
    const keys = (await ask(source, 'CLUSTER', 'GETKEYSINSLOT', slot, 10_000)) as string[];
    if (keys.length === 0) break;
    await ask(source, 'MIGRATE', HOST, target, '', 0, 5_000, 'KEYS', ...keys);
  }
  await ask(target, 'CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
  await ask(source, 'CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
}

const ask = (port: number, command: string, ...args: (string | number)[]): Promise<unknown> =>
  tell(`redis://${HOST}:${port}`, command, ...args.map(String));
