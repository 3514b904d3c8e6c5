import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tell } from '../servers/embedded/clients.ts';
import { reservePort } from './reserved-port.ts';
import { until } from './until.ts';

const NAME = 'ledgerbell';

/** Two servers of Redis, of which one is the master, and three sentinels that elect it. */
export interface SentinelCluster {
  url: string;
  /** The port of the present master, as the sentinels know it. */
  master(): Promise<number>;
  /** Ends the master as a crash does, and waits until another server is the master. */
  killMaster(): Promise<void>;
  /** Ends the master as a crash does. It comes back when another server is the master, as its replica. */
  replaceMaster(): Promise<void>;
  /** Makes the other server the master. The former one goes on as its replica, and closes no connection. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts all five processes, with their files in a folder. */
export async function startSentinelCluster(directory: string): Promise<SentinelCluster> {
  const children = new Map<number, ChildProcess>();

  async function start(lines: readonly string[], ...args: string[]): Promise<number> {
    const port = await reservePort();
    const folder = join(directory, String(port));
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'redis.conf'),
      [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...lines, ''].join('\n'),
    );
    await launch(port, ...args);
    return port;
  }

  async function launch(port: number, ...args: string[]): Promise<void> {
    const file = join(directory, String(port), 'redis.conf');
    children.set(port, spawn('redis-server', [file, ...args], { stdio: 'ignore' }));
    await until(`Redis at ${port}`, () => ask(port, 'PING').then(Boolean, () => false), 20_000);
  }

  const ask = (port: number, command: string, ...args: string[]): Promise<unknown> =>
    tell(`redis://127.0.0.1:${port}`, command, ...args);

  const first = await start(['save ""']);
  await start(['save ""', `replicaof 127.0.0.1 ${first}`]);
  const watch = [
    `sentinel monitor ${NAME} 127.0.0.1 ${first} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 3000`,
  ];
  const sentinels = [
    await start(watch, '--sentinel'),
    await start(watch, '--sentinel'),
    await start(watch, '--sentinel'),
  ];
  const [sentinel = 0] = sentinels;
  const master = async () =>
    Number(((await ask(sentinel, 'SENTINEL', 'get-master-addr-by-name', NAME)) as string[])[1]);
  await until(
    'the sentinels know each other and the replica',
    async () => {
      const fields = (await ask(sentinel, 'SENTINEL', 'master', NAME)) as string[];
      const of = (name: string) => fields[fields.indexOf(name) + 1];
      return of('num-other-sentinels') === '2' && of('num-slaves') === '1';
    },
    30_000,
  );
  const waitForOther = (former: number) =>
    until(
      'another master',
      () =>
        master().then(
          (port) => port !== former,
          () => false,
        ),
      30_000,
    );

  const follows = (former: number) =>
    until(
      'the replica follows',
      () =>
        ask(former, 'ROLE').then(
          (role) => (role as string[])[0] === 'slave' && (role as string[])[3] === 'connected',
          () => false,
        ),
      30_000,
    );

  return {
    url: `redis+sentinel://${sentinels.map((port) => `127.0.0.1:${port}`).join(',')}/0?name=${NAME}`,
    master,
    async killMaster() {
      const former = await master();
      children.get(former)?.kill('SIGKILL');
      await waitForOther(former);
    },
    async replaceMaster() {
      const former = await master();
      children.get(former)?.kill('SIGKILL');
      await waitForOther(former);
      await launch(former);
      await follows(former);
    },
    async failOver() {
      const former = await master();
      await ask(sentinel, 'SENTINEL', 'failover', NAME);
      await waitForOther(former);
      // The former master closes its connections when it becomes a replica, this one too.
      await follows(former);
    },
    async stop() {
      for (const child of children.values()) {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      }
    },
  };
}
