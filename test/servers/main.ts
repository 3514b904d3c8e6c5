import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { runCommand } from '../../src/servers/embedded/command.ts';
import { parseCommand } from './arguments.ts';
import { SERVERS, type ServerPackage } from './catalog.ts';
import { installServer } from './install.ts';
import { installNode } from './node.ts';
import { checkProducts } from './products.ts';
import { startTestServers } from './start.ts';

/**
 * `npm run test:on -- mysql-9 valkey-9 --node 24 …`: runs the suite on these servers and this Node, and installs what is
 * missing. The other arguments go to vitest, whose exit code is this script's. A server whose address is in TEST_DATABASE_URL
 * or TEST_REDIS_URL is used as it is.
 */

const announce = (line: string) => console.error(line);

async function run(signal: AbortSignal): Promise<number> {
  const { names, node, rest } = parseCommand(process.argv.slice(2));
  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
  const given = { mysql: TEST_DATABASE_URL, redis: TEST_REDIS_URL };

  const directories: string[] = [];
  if (node !== null) directories.push(await installNode(node, { announce, signal }));
  const wanted: ServerPackage[] = [];
  for (const name of names) {
    const server: ServerPackage = SERVERS[name];
    const isGiven = Boolean(given[server.role]);
    wanted.push(isGiven ? { ...server, version: '' } : server);
    if (!isGiven) directories.push(join(await installServer(name, { announce, signal }), 'bin'));
  }
  // The embedded servers take what comes first in PATH. So do the tests that start servers of their own.
  process.env.PATH = [...directories, process.env.PATH].join(delimiter);

  const servers = await startTestServers(announce);
  try {
    signal.throwIfAborted();
    const { databaseUrl, redisUrl } = servers;
    const products = await checkProducts({ databaseUrl, redisUrl }, wanted);
    announce(`The tests run on ${products}, with Node ${await checkNode(node)}.`);
    return await runVitest(rest, { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl }, signal);
  } finally {
    await servers.stop();
  }
}

async function checkNode(major: string | null): Promise<string> {
  const version = (await runCommand('node', ['--version'])).stdout.trim().slice(1);
  if (major !== null && !version.startsWith(`${major}.`)) {
    throw new Error(`Node ${major} was wanted, and ${version} is what runs.`);
  }
  return version;
}

/** @returns the exit code of vitest; 1 when a signal ended it. */
async function runVitest(args: string[], env: Record<string, string>, signal: AbortSignal): Promise<number> {
  const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');
  // By name: PATH begins with the wanted Node.
  const child = spawn('node', [vitest, 'run', ...args], {
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  const end = () => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
  };
  signal.addEventListener('abort', end);
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

const stopping = new AbortController();
let interrupted = 0;
for (const [name, code] of Object.entries(SIGNALS)) {
  process.on(name, () => {
    interrupted ||= code;
    stopping.abort();
  });
}

run(stopping.signal)
  .then((code) => {
    process.exitCode = interrupted || code;
  })
  .catch((error: unknown) => {
    if (interrupted === 0) announce(error instanceof Error ? error.message : String(error));
    process.exitCode = interrupted || 1;
  });
