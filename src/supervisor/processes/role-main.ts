import { createBirpc } from 'birpc';
import { createProcessMetrics } from '../../console/process-metrics.ts';
import { startHeartbeat } from '../../database/heartbeat.ts';
import { openRuntime } from '../../database/runtime.ts';
import { PortTakenError } from '../../http/listener.ts';
import { loadProfiles } from '../../intake/load-profiles.ts';
import { createLog, type Log } from '../../platform/log.ts';
import { type Stop, stopOnce } from '../../platform/stopping.ts';
import { withoutValues } from '../../platform/text.ts';
import { startTracing } from '../../platform/tracing.ts';
import { type RunningRoles, startRoles } from '../../service.ts';
import { collectGarbageEarlier, compileEarlier } from '../v8-settings.ts';
import type { Assignment, RoleProcessFunctions, StartOutcome, SupervisorFunctions } from './role-process.ts';

/** The program of a process of the supervisor. It gets its roles in a message, and ends with its supervisor. */

const SECOND = 1_000;

/** How long a stop may take after a SIGTERM to this process alone. In other cases, the supervisor kills a process that takes too long. */
const SHUTDOWN_LIMIT = 10 * SECOND;

/** How long this process may take to tell the supervisor why it ends. */
const LAST_WORDS = SECOND / 2;

collectGarbageEarlier();
compileEarlier();

const started: Stop[] = [];
const stopStarted = stopOnce(started);
let roles: RunningRoles | undefined;
let log: Log | undefined;
let readMetrics: RoleProcessFunctions['readMetrics'] = async () => [];

const supervisor = createBirpc<SupervisorFunctions, RoleProcessFunctions>(
  { start, stop, readMetrics: () => readMetrics(), ping: async () => true },
  {
    post: (message) => process.send?.(message),
    on: (receive) => process.on('message', receive),
    timeout: LAST_WORDS,
    // Ignores the error, because the supervisor has ended and this process will end too.
    onGeneralError: () => true,
  },
);

void supervisor.loaded.asEvent();

// A terminal sends these to all processes. The supervisor ends or replaces this one.
for (const name of ['SIGINT', 'SIGHUP'] as const) process.on(name, () => {});
process.on('SIGTERM', () => void stop(false));
process.on('uncaughtException', async (error) => {
  log?.fatal({ err: error }, 'uncaught error');
  await supervisor.reportError(withoutValues(String(error))).catch(() => {});
  process.exit(1);
});

async function start(assignment: Assignment): Promise<StartOutcome> {
  try {
    return { state: 'ready', ...(await startAssigned(assignment)) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { state: 'failed', message, portTaken: error instanceof PortTakenError };
  }
}

/** @returns the URLs of the API, empty without the role `api`. */
async function startAssigned({
  name,
  roles: names,
  config,
  servers,
}: Assignment): Promise<{ url: string; operatorsUrl: string }> {
  log = createLog(config.logLevel, name);
  const announce = (line: string) => process.stderr.write(`${name}: ${line}\n`);
  const profiles = loadProfiles(config.profilesDir);
  const tracing = await startTracing(config.traces, { roles: names, log });
  started.push(() => tracing?.stop());
  const runtime = await openRuntime(config, servers, { log, announce, migrations: 'expect', tracing });
  started.push(() => runtime.close());
  readMetrics = createProcessMetrics(runtime, name);
  roles = await startRoles(runtime, names, profiles);
  started.push(roles.stop);
  const heartbeat = await startHeartbeat(runtime, names, name);
  started.push(heartbeat.stop);
  const { url, operatorsUrl } = roles;
  return { url, operatorsUrl };
}

async function stop(handOver: boolean): Promise<void> {
  setTimeout(() => process.exit(1), SHUTDOWN_LIMIT);
  if (handOver) await roles?.handOver();
  await stopStarted().catch((err: unknown) => log?.error({ err }, 'could not stop cleanly'));
  process.exit(0);
}
