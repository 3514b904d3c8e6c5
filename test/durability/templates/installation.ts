import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'mysql2/promise';
import { compile, compiled } from '../../support/compiled.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { until } from '../../support/until.ts';
import { prepareServers } from '../clusters.ts';
import { answering, connect, createApplicationUser, runCli, running } from '../service.ts';
import { type Supervised, supervise } from '../supervisor.ts';
import { createOperators, type Operators } from './operators.ts';
import { followReceipts, type ReceiptLog } from './receipts.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** The processes of the product. Two delivery processes share the circuit of the template. */
const ROLES = [
  ['api 0', 'api'],
  ['importer 0', 'importer'],
  ['importer 1', 'importer'],
  ['delivery 0', 'delivery'],
  ['delivery 1', 'delivery'],
  ['maintenance 0', 'maintenance'],
] as const;

export type RoleName = (typeof ROLES)[number][0];

/** The service with its servers and the receiver, and a client of the operators' API. */
export interface TemplateInstallation {
  directory: string;
  operators: Operators;
  receiver: Receiver;
  receipts: ReceiptLog;
  sql: Pool;
  roles: ReadonlyMap<RoleName, Supervised>;
  /** Sends SIGKILL. @returns a promise that resolves when it runs again. */
  kill(name: RoleName): Promise<void>;
  /** @returns errors that the processes have logged. */
  readErrors(): string[];
  /** @returns processes that ended by themselves, or not on SIGTERM. */
  endRoles(): Promise<string[]>;
  end(remove: boolean): Promise<void>;
}

/** How often the process has said that it runs. */
const startsOf = ({ log }: Supervised) => readFileSync(log, 'utf8').split('Ledgerbell is running').length - 1;

/** Servers are not killed in these runs, so nothing that is tried can fail for good. */
const ERROR = '{"level":50,';

/** A start waits a minute for its servers. */
const START_LIMIT = 180_000;

export async function startTemplateInstallation(
  announce: (line: string) => void,
  signal: AbortSignal,
): Promise<TemplateInstallation> {
  await compile();
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-templates-'));
  await mkdir(join(directory, 'logs'));
  await chmod(directory, 0o711);
  const { mysql, redis } = await prepareServers(directory, {
    mysql: 'alone',
    redis: 'alone',
    env: {},
    announce,
  });
  const ends: (() => Promise<unknown>)[] = [() => mysql.kill(), () => redis.kill()];
  const end = async (remove: boolean) => {
    for (const it of ends.splice(0).reverse()) await it();
    if (remove) await mysql.disk?.unmount();
    if (remove) await rm(directory, { recursive: true, force: true });
  };
  try {
    await Promise.all([mysql.start(), redis.start()]);
    const [port, opsPort] = [await reservePort(), await reservePort()];
    const env = {
      DATA_DIR: join(directory, 'service'),
      DATABASE_URL: await createApplicationUser(mysql.url),
      REDIS_URL: redis.url,
      SECRET_KEY: randomBytes(32).toString('base64'),
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      NODE_ENV: 'production',
      PORT: String(port),
    };
    await runCli(env, ['migrate']);
    const start = (name: string, role: string) =>
      supervise(name, [compiled('src/main.ts'), '--roles', role], {
        env: {
          ...env,
          OPS_PORT: role === 'api' ? String(opsPort) : '0',
          // When each of its tasks ran.
          LOG_LEVEL: role === 'maintenance' ? 'debug' : 'info',
        },
        log: join(directory, 'logs', `${name.replace(' ', '-')}.log`),
      });
    const roles = new Map(ROLES.map(([name, role]): [RoleName, Supervised] => [name, start(name, role)]));
    ends.push(() => Promise.all([...roles.values()].map((role) => role.end())));
    await answering(`http://127.0.0.1:${port}/readyz`);
    await Promise.all([...roles.values()].map(running));
    const { operator_token: token } = (await runCli({ ...env, OPS_PORT: String(opsPort) }, [
      ...['operators', 'tokens', 'create', '--title', 'Fault run', '--role', 'operator'],
    ])) as { operator_token: { token: string } };
    const file = join(directory, 'receipts.tsv');
    const receiver = await startReceiver(file, await reservePort());
    ends.push(() => receiver.end());
    const sql = connect(mysql.url);
    ends.push(() => sql.end().catch(() => {}));
    const find = (name: RoleName): Supervised => {
      const role = roles.get(name);
      if (role === undefined) throw new Error(`${name} does not exist`);
      return role;
    };
    return {
      directory,
      operators: createOperators(`http://127.0.0.1:${opsPort}`, token.token, signal),
      receiver,
      receipts: followReceipts(file),
      sql,
      roles,
      async kill(name) {
        const role = find(name);
        const before = startsOf(role);
        role.kill();
        await until(`${name} runs again`, () => startsOf(role) > before, START_LIMIT);
      },
      readErrors: () =>
        [...roles.values()].flatMap(({ name, log }) =>
          readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => line.startsWith(ERROR))
            .map((line) => `${name}: ${line}`),
        ),
      async endRoles() {
        const all = [...roles.values()];
        const how = await Promise.all(all.map((role) => role.end()));
        return [
          ...all.flatMap(({ ownEnds }) => ownEnds),
          ...all.flatMap(({ name }, at) => (how[at] === '0' ? [] : [`${name}: ${how[at]}`])),
        ];
      },
      end,
    };
  } catch (error) {
    await end(false);
    throw error;
  }
}
