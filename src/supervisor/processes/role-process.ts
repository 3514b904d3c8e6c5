import cluster from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createBirpc } from 'birpc';
import type { MetricObject } from 'prom-client';
import type { Servers } from '../../database/runtime.ts';
import { type Config, ROLES, type RoleName } from '../../platform/config.ts';

/** Which process has which roles, and what the supervisor and its processes say to each other. */

/** A process of the supervisor: its name in logs, metrics and the console, and its roles. */
export interface ProcessPlan {
  name: string;
  roles: readonly RoleName[];
}

/** More processes have not been measured. Each opens up to 20 connections to MySQL, which allows 151 by default. */
const MOST_BY_DEFAULT = 4;

/** The number of processes without --processes and PROCESSES. */
export const defaultCount = (cores: number): number => Math.min(cores, MOST_BY_DEFAULT);

/**
 * Spreads the roles over processes. A single process has all roles. Otherwise every second process, beginning with the first, answers the
 * API and imports. The others deliver, and the first of them also does maintenance. docs/production.md has the measurements.
 */
export function planProcesses(count: number): ProcessPlan[] {
  if (count === 1) return [{ name: 'main', roles: ROLES }];
  return Array.from({ length: count }, (_, at): ProcessPlan => {
    const number = Math.floor(at / 2) + 1;
    if (at % 2 === 0) return { name: `api-${number}`, roles: ['api', 'importer'] };
    return {
      name: `delivery-${number}`,
      roles: number === 1 ? ['delivery', 'maintenance'] : ['delivery'],
    };
  });
}

/** The roles of a process, its configuration and its servers. */
export interface Assignment extends ProcessPlan {
  config: Config;
  servers: Omit<Servers, 'stop'>;
}

/**
 * How the start of a process ended. `url` is the URL of the API, and `operatorsUrl` that to which the supervisor passes on the requests of
 * operators; both are empty without the role `api`.
 */
export type StartOutcome =
  | { state: 'ready'; url: string; operatorsUrl: string }
  | { state: 'failed'; message: string; portTaken: boolean };

/** The process has ended before it could report a result. `message` says how it ended. */
type Ended = { state: 'ended'; message: string };

/** The functions of a role process that its supervisor calls. */
export interface RoleProcessFunctions {
  start(assignment: Assignment): Promise<StartOutcome>;
  /** @param handOver whether another process has replaced this one, so that clients are led there first. */
  stop(handOver: boolean): Promise<void>;
  readMetrics(): Promise<MetricObject[]>;
  ping(): Promise<true>;
}

/** The functions of the supervisor that a role process calls. */
export interface SupervisorFunctions {
  /** Says that the process has loaded the program. Messages that it was sent before are lost. */
  loaded(): void;
  /** Says why the process is about to end. */
  reportError(message: string): void;
}

/** A process of the supervisor, as the supervisor sees it. */
export interface RoleProcess {
  functions: Omit<RoleProcessFunctions, 'start'>;
  start(assignment: Assignment): Promise<StartOutcome | Ended>;
  pid: number;
  /** Resolves with the reason when the process has ended. */
  ended: Promise<string>;
  kill(): void;
}

const IS_SOURCE = import.meta.url.endsWith('.ts');
const PROGRAM = fileURLToPath(new URL(`./role-main.${IS_SOURCE ? 'ts' : 'js'}`, import.meta.url));

/**
 * Starts a process that loads the program and then waits for `start`. The process is a worker of node:cluster. All workers share the API's
 * port, and each ends immediately when this process ends for whatever reason.
 * @param name of the process.
 */
export function forkRoleProcess(name: string): RoleProcess {
  cluster.setupPrimary({
    exec: PROGRAM,
    // Shows the name in `ps`.
    args: [name],
    // Structured clones, because a config may hold `undefined`.
    serialization: 'advanced',
    ...(IS_SOURCE ? { execArgv: ['--import', 'tsx'] } : {}),
  });
  const worker = cluster.fork();
  let error = '';
  let onLoaded = () => {};
  const loaded = new Promise<void>((resolve) => {
    onLoaded = resolve;
  });
  const functions = createBirpc<RoleProcessFunctions, SupervisorFunctions>(
    {
      loaded: () => onLoaded(),
      reportError(message) {
        error = message;
      },
    },
    {
      // Ignores the error of a message to a process that has just ended. Its calls are rejected below.
      post: (message) => worker.send(message, () => {}),
      on: (receive) => worker.on('message', receive),
      timeout: -1,
    },
  );
  const ended = once(worker, 'exit').then(([code, signal]) => {
    functions.$close();
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
    return error === '' ? how : `${how}: ${error}`;
  });
  async function start(assignment: Assignment): Promise<StartOutcome | Ended> {
    const early = ended.then((message): Ended => ({ state: 'ended', message }));
    const late = loaded
      .then(() => functions.start(assignment))
      .catch((reason): Promise<Ended> => {
        if (!functions.$closed) throw reason;
        return early;
      });
    return Promise.race([late, early]);
  }
  const pid = worker.process.pid ?? 0;
  return { functions, start, pid, ended, kill: () => void worker.process.kill('SIGKILL') };
}
