import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import * as v from 'valibot';
import { readIfThere, writePrivate } from '../private-file.ts';
import { killWithProcess, lastLines } from './command.ts';
import { endProcess, identify, isAlive, ProcessIdentity } from './process-identity.ts';

/** The kernel's limit is 107 bytes on Linux and 103 on macOS (sun_path in unix(7), with its closing zero). */
const LONGEST_PATH = 100;
const TEMPORARY = 'ledgerbell-socket-';

/** DATA_DIR/<name>.sock or, if that is too long for a socket, a path in a new private directory (0700). */
export function chooseSocket(dataDir: string, name: string): string {
  const usual = join(dataDir, `${name}.sock`);
  return Buffer.byteLength(usual) <= LONGEST_PATH
    ? usual
    : join(mkdtempSync(join(tmpdir(), TEMPORARY)), `${name}.sock`);
}

/** Removes a socket on which no server listens any more, so that the next server can use its path. */
export function removeSocket(socket: string): void {
  rmSync(socket, { force: true });
  // MySQL 8 writes its pid here.
  rmSync(`${socket}.lock`, { force: true });
}

/** Removes a socket and the private directory that was created for it. */
export function discardSocket(socket: string): void {
  removeSocket(socket);
  if (basename(dirname(socket)).startsWith(TEMPORARY)) {
    rmSync(dirname(socket), { recursive: true, force: true });
  }
}

const SECOND = 1_000;
const START_LIMIT = 60 * SECOND;
const STOP_LIMIT = 20 * SECOND;
/** Limit for stopping a server that is still starting. MariaDB may ignore a SIGTERM then. Nothing has been stored yet. */
const ABORT_LIMIT = 3 * SECOND;
const ORPHAN_LIMIT = 30 * SECOND;
const LONGEST_PAUSE = 30 * SECOND;

/** How to start a server, and how to check that it answers. */
export interface ServerProcess {
  /** The server's record is DATA_DIR/<name>.json. Its log is DATA_DIR/<name>.log. */
  name: 'mysql' | 'redis';
  /** Its name in messages. */
  title: string;
  command: readonly [string, ...string[]];
  socket: string;
  url: string;
  /** Rejects unless the server answers and accepts its password. */
  ping: () => Promise<void>;
}

export interface RunningServer {
  url: string;
  /**
   * Sends SIGTERM, and SIGKILL after 20 s. Then removes the server's record. May be called again. If this process ends first, the
   * server is killed.
   */
  stop(): Promise<void>;
}

const ChildRecord = v.object({ ...ProcessIdentity.entries, socket: v.string() });

/**
 * Starts the server and keeps it running. If the server dies, announces this and starts it again after half a second. If that
 * fails, the pauses grow to about 30 s.
 * @param signal aborts the start: SIGTERM, and SIGKILL after 3 s.
 * @throws {Error} with the end of the server's log, when the server ends or does not answer within 60 s. The server has ended by
 * then.
 */
export async function runServer(
  dataDir: string,
  server: ServerProcess,
  { announce, signal }: { announce: (line: string) => void; signal?: AbortSignal | undefined },
): Promise<RunningServer> {
  signal?.throwIfAborted();
  const stopping = new AbortController();
  let child = launch(dataDir, server);

  async function keepRunning(): Promise<void> {
    for (;;) {
      const how = await child.ended;
      if (stopping.signal.aborted) {
        return;
      }
      announce(`${server.title} ended unexpectedly (${how}) and is started again. Its log: ${child.log}`);
      await pRetry(restart, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: SECOND,
        maxTimeout: LONGEST_PAUSE,
        signal: stopping.signal,
        onFailedAttempt: ({ error }) => {
          if (!stopping.signal.aborted) {
            const [firstLine] = error.message.split('\n');
            announce(`${server.title} could not be started again: ${firstLine}`);
          }
        },
      });
    }
  }

  async function restart(): Promise<void> {
    await sleep(SECOND / 2, undefined, { signal: stopping.signal });
    stopping.signal.throwIfAborted();
    child = launch(dataDir, server);
    await child.ready();
  }

  async function stop(): Promise<void> {
    stopping.abort();
    await Promise.allSettled([child.end(), kept]);
    forget(dataDir, server.name);
  }

  try {
    await child.ready(signal);
  } catch (error) {
    forget(dataDir, server.name);
    throw error;
  }
  const kept = keepRunning();
  // `kept` rejects when stop() cuts a pause short. stop() waits for it and handles the rejection.
  kept.catch(() => {});
  return { url: server.url, stop };
}

/** Ends a server that an earlier owner of DATA_DIR left running when it was killed. */
export async function endOrphan(dataDir: string, name: ServerProcess['name']): Promise<void> {
  const record = readRecord(dataDir, name);
  if (record !== null) {
    await endProcess(record, ORPHAN_LIMIT);
    forget(dataDir, name);
  }
}

/**
 * The shell starts the server only after reading a line. If this process is killed before it has written the server's record, stdin
 * closes and nothing starts, so no server runs without a record. LC_ALL keeps the servers from using the user's language.
 */
const GATE = 'read -r go && LC_ALL=C && export LC_ALL && exec "$@" </dev/null';

function launch(dataDir: string, server: ServerProcess) {
  const log = join(dataDir, `${server.name}.log`);
  removeSocket(server.socket);
  const output = openSync(log, 'a', 0o600);
  const logStart = statSync(log).size;
  // The server gets its own process group, because Ctrl-C in a terminal must reach only the service, which ends its servers last.
  const child = spawn('/bin/sh', ['-c', GATE, 'sh', ...server.command], {
    detached: true,
    cwd: dataDir,
    stdio: ['pipe', output, output],
  });
  closeSync(output);
  const release = child.pid === undefined ? () => {} : killWithProcess(child.pid);
  const ended = once(child, 'exit')
    .then(
      ([code, signal]) => (signal === null ? `exit code ${code}` : `signal ${signal}`),
      (error: unknown) => String(error),
    )
    .finally(release);
  child.stdin?.on('error', () => {});
  const identity = child.pid === undefined ? null : identify(child.pid);
  try {
    if (identity !== null) {
      writePrivate(
        join(dataDir, `${server.name}.json`),
        JSON.stringify({ ...identity, socket: server.socket }),
      );
    }
  } catch (error) {
    // Ends the waiting shell. Otherwise, every try on a full disk would leave one behind.
    child.stdin?.end();
    throw error;
  }
  child.stdin?.end('go\n');

  async function ready(signal?: AbortSignal): Promise<void> {
    const gone = new AbortController();
    let reason = `${server.title} does not answer within ${START_LIMIT / SECOND} s`;
    ended.then((how) => {
      reason = `${server.title} ended while it was starting (${how})`;
      gone.abort();
    });
    try {
      await pRetry(server.ping, {
        retries: Number.POSITIVE_INFINITY,
        factor: 1,
        minTimeout: 50,
        maxRetryTime: START_LIMIT,
        signal: signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]),
      });
    } catch (error) {
      const failure = reason;
      await end(signal?.aborted ? ABORT_LIMIT : STOP_LIMIT);
      signal?.throwIfAborted();
      const said = readFileSync(log).subarray(logStart).toString();
      throw new Error(`${failure}. The last lines of its log ${log}:\n${lastLines(said)}`, { cause: error });
    }
  }

  async function end(limit = STOP_LIMIT): Promise<void> {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), limit);
    await ended;
    clearTimeout(timer);
  }

  return { log, ended, ready, end };
}

function forget(dataDir: string, name: ServerProcess['name']): void {
  const record = readRecord(dataDir, name);
  if (record !== null && !isAlive(record)) {
    discardSocket(record.socket);
    rmSync(join(dataDir, `${name}.json`), { force: true });
  }
}

function readRecord(dataDir: string, name: ServerProcess['name']) {
  const text = readIfThere(join(dataDir, `${name}.json`));
  try {
    return text === null ? null : v.parse(ChildRecord, JSON.parse(text));
  } catch {
    return null;
  }
}
