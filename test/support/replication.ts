import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';
import { prepareMysql } from '../../src/servers/embedded/mysql.ts';
import { provide } from '../../src/servers/embedded/provision.ts';
import { reservePort } from './reserved-port.ts';
import { until } from './until.ts';

/** A primary and a replica of MySQL or MariaDB, whose roles can change, and an address that always leads to the primary. */
export interface Replication {
  /** Of the application, which may not write to a server that is read-only. Connections that exist stay where they are. */
  url: string;
  /** Names both servers. */
  urlOfBoth: string;
  /** Makes the replica the primary, as an operator does it: the old primary becomes read-only and keeps its connections. */
  changeRoles(): Promise<void>;
  /** Between the two: no server takes writes. */
  forbidWrites(): Promise<void>;
  allowWrites(): Promise<void>;
  /**
   * Changes the roles by a mistake: the former primary takes writes again while `work` runs, and does not follow the new one. In the
   * end it follows, as a replica that was made anew.
   * @param work `writeToFormer` runs a transaction that the new primary lacks.
   */
  changeRolesBadly(work: (writeToFormer: () => Promise<void>) => Promise<void>): Promise<void>;
  /**
   * Makes the replica take writes without the primary, which goes on: as when a primary comes back after a failover.
   * @returns for each of the two, its name as in DATABASE_URL, and how to run a statement and to forbid writes there.
   */
  split(): Promise<{ primary: SplitServer; promoted: SplitServer }>;
  /** From now on, the replica gets nothing new. */
  cutOff(): Promise<void>;
  /** Makes the replica the primary as it is, and ends the old primary for good. */
  failOver(): Promise<void>;
  /** Waits until the replica has everything. @returns what a query finds on each of the two. */
  compare(query: string): Promise<[unknown, unknown]>;
  stop(): Promise<void>;
}

interface SplitServer {
  name: string;
  run(statement: string): Promise<void>;
  forbidWrites(): Promise<void>;
}

interface Server {
  child: ChildProcess;
  port: number;
  admin: Connection;
}

type Flavor = 'mariadb' | 'mysql';

/** The statements in which the two differ. */
const STATEMENTS = {
  mariadb: {
    options: ['--log-slave-updates', '--gtid-strict-mode=1'],
    reset: 'RESET MASTER',
    follow: (port: number, password: string) => [
      'STOP SLAVE',
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = 'replica',
        MASTER_PASSWORD = '${password}', MASTER_USE_GTID = current_pos, MASTER_CONNECT_RETRY = 1`,
      'START SLAVE',
    ],
    lead: ['STOP SLAVE'],
    forbidWrites: 'SET GLOBAL read_only = 1',
    allowWrites: ['SET GLOBAL read_only = 0'],
    position: 'SELECT @@gtid_binlog_pos AS position',
    beginAt: (position: string) => ['RESET MASTER', `SET GLOBAL gtid_slave_pos = '${position}'`],
    reach: (position: string) => `SELECT MASTER_GTID_WAIT('${position}', 30) AS result`,
  },
  mysql: {
    options: ['--gtid-mode=ON', '--enforce-gtid-consistency=ON'],
    reset: 'RESET BINARY LOGS AND GTIDS',
    follow: (port: number, password: string) => [
      'STOP REPLICA',
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${port}, SOURCE_USER = 'replica',
        SOURCE_PASSWORD = '${password}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1`,
      'START REPLICA',
    ],
    lead: ['STOP REPLICA'],
    forbidWrites: 'SET GLOBAL super_read_only = 1',
    allowWrites: ['SET GLOBAL super_read_only = 0', 'SET GLOBAL read_only = 0'],
    position: 'SELECT @@GLOBAL.gtid_executed AS position',
    beginAt: (position: string) => ['RESET BINARY LOGS AND GTIDS', `SET GLOBAL gtid_purged = '${position}'`],
    reach: (position: string) => `SELECT WAIT_FOR_EXECUTED_GTID_SET('${position}', 30) AS result`,
  },
} as const satisfies Record<Flavor, unknown>;

/** Milliseconds after which each process has checked the hosts. */
const NOTICED = 1_500;

/** Starts both servers in a folder, with the settings of the embedded server. */
export async function startReplication(directory: string): Promise<Replication> {
  const { mysql: binaries } = await provide({
    mysql: true,
    redis: false,
    install: 'auto',
    announce: () => {},
  });
  if (binaries === undefined || binaries === 'docker') throw new Error('MySQL is needed as a program');
  const statements = STATEMENTS[binaries.flavor];
  const password = randomBytes(12).toString('hex');

  async function start(id: number): Promise<Server> {
    const dataDir = join(directory, `server-${id}`);
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const socket = join(dataDir, 's');
    const prepared = await prepareMysql(dataDir, { binaries: binaries as never, socket, password });
    const [file, ...args] = prepared.command;
    const port = await reservePort();
    const options = [
      '--skip-networking=0',
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      `--server-id=${id}`,
      `--log-bin=${join(dataDir, 'binary-log')}`,
      '--binlog-format=ROW',
      ...statements.options,
    ];
    const child = spawn(file, [...args, ...options], { stdio: 'ignore' });
    await until(
      'MySQL answers',
      () =>
        prepared.ping().then(
          () => true,
          () => false,
        ),
      60_000,
    );
    const admin = await mysql.createConnection({ uri: prepared.url });
    // The accounts that the server has made at its start would be replicated.
    await admin.query(statements.reset);
    return { child, port, admin };
  }

  const run = async (server: Server, queries: readonly string[]) => {
    for (const query of queries) await server.admin.query(query);
  };
  const follow = (server: Server, leader: Server) => run(server, statements.follow(leader.port, password));
  /** Waits until a replica has everything that the primary has. */
  async function positionOf(server: Server): Promise<string> {
    const [rows] = await server.admin.query<RowDataPacket[]>(statements.position);
    return String(rows[0]?.position).replaceAll('\n', '');
  }
  async function catchUp(replica: Server, leader: Server): Promise<void> {
    const position = await positionOf(leader);
    const [result] = await replica.admin.query<RowDataPacket[]>(statements.reach(position));
    if (Number(result[0]?.result) !== 0) throw new Error(`the replica is behind: ${position}`);
  }

  let [primary, replica] = await Promise.all([start(1), start(2)]);
  await run(primary, [
    `CREATE USER 'replica'@'%' IDENTIFIED BY '${password}'`,
    "GRANT REPLICATION SLAVE ON *.* TO 'replica'@'%'",
    `CREATE USER 'application'@'%' IDENTIFIED BY '${password}'`,
    "GRANT ALL PRIVILEGES ON ledgerbell.* TO 'application'@'%'",
    // So that tests find transactions that are half-way.
    "GRANT PROCESS ON *.* TO 'application'@'%'",
  ]);
  await follow(replica, primary);
  await catchUp(replica, primary);
  await run(replica, [statements.forbidWrites]);

  const sockets = new Set<Socket>();
  const address = createServer((client) => {
    const server = connect(primary.port, '127.0.0.1');
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(address, 'listening');

  return {
    url: `mysql://application:${password}@127.0.0.1:${(address.address() as AddressInfo).port}/ledgerbell`,
    urlOfBoth: `mysql://application:${password}@127.0.0.1:${primary.port},127.0.0.1:${replica.port}/ledgerbell`,
    async changeRoles() {
      const [old, next] = [primary, replica];
      await run(old, [statements.forbidWrites]);
      await catchUp(next, old);
      await run(next, [...statements.lead, ...statements.allowWrites]);
      [primary, replica] = [next, old];
      await follow(replica, primary);
    },
    async changeRolesBadly(work) {
      const [old, next] = [primary, replica];
      await run(old, [statements.forbidWrites]);
      await catchUp(next, old);
      const position = await positionOf(old);
      await run(next, [...statements.lead, ...statements.allowWrites]);
      [primary, replica] = [next, old];
      // All processes notice, because the former primary takes no writes for a while.
      await sleep(NOTICED);
      await run(old, statements.allowWrites);
      try {
        await work(() => run(old, ['CREATE DATABASE IF NOT EXISTS of_the_former']));
      } finally {
        await run(old, [
          statements.forbidWrites,
          'SET SESSION sql_log_bin = 0',
          ...statements.allowWrites,
          'DROP DATABASE IF EXISTS of_the_former',
          statements.forbidWrites,
          'SET SESSION sql_log_bin = 1',
          ...statements.beginAt(position),
        ]);
        await follow(replica, primary);
      }
    },
    forbidWrites: () => run(primary, [statements.forbidWrites]),
    allowWrites: () => run(primary, statements.allowWrites),
    async split() {
      await catchUp(replica, primary);
      await run(replica, [...statements.lead, ...statements.allowWrites]);
      const splitServer = (server: Server): SplitServer => ({
        name: `127.0.0.1:${server.port}`,
        run: (statement) => run(server, [statement]),
        forbidWrites: () => run(server, [statements.forbidWrites]),
      });
      return { primary: splitServer(primary), promoted: splitServer(replica) };
    },
    cutOff: () => run(replica, statements.lead),
    async failOver() {
      const lost = primary;
      lost.child.kill('SIGKILL');
      await run(replica, statements.allowWrites);
      [primary, replica] = [replica, lost];
    },
    async compare(query) {
      await catchUp(replica, primary);
      const [[one], [other]] = await Promise.all([primary.admin.query(query), replica.admin.query(query)]);
      return [one, other];
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      address.close();
      for (const { admin, child } of [primary, replica]) {
        admin.destroy();
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      }
    },
  };
}
