import { setTimeout as sleep } from 'node:timers/promises';
import type { OtherProcesses } from '../../console/process-metrics.ts';
import { PortTakenError } from '../../http/listener.ts';
import { type Assignment, forkRoleProcess, type ProcessPlan, type RoleProcess } from './role-process.ts';
import { createWatchdog, MOST_MISSED, PING_EVERY } from './watchdog.ts';

/** Starts the processes of the service, starts them again when they end, and ends those that do not answer. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FIRST_PAUSE = SECOND / 2;
const LONGEST_PAUSE = 30 * SECOND;

/** This many deaths at the start within a minute end the service. */
const DEATHS_AT_START = 5;

/** The unexpected end of a process. */
export interface Death {
  /** Milliseconds since 1970. */
  at: number;
  /** Whether the process ended before it was ready. */
  atStart: boolean;
}

/**
 * Decides how long to wait before a process is started again: half a second, and twice as long after each further death within a minute,
 * up to 30 s.
 * @param deaths of this process, including the last.
 * @returns milliseconds, or `give up` after five deaths at the start within a minute.
 */
export function decideRestart(deaths: readonly Death[], now: number): number | 'give up' {
  const recent = deaths.filter(({ at }) => at > now - MINUTE);
  if (recent.filter(({ atStart }) => atStart).length >= DEATHS_AT_START) return 'give up';
  return Math.min(FIRST_PAUSE * 2 ** (recent.length - 1), LONGEST_PAUSE);
}

/** How long a process may take to answer. If it takes longer, its event loop is blocked. */
const ANSWER_LIMIT = 2 * SECOND;

/** The delivery processes begin to stop when the API processes have stopped, but after this time at the latest. */
const FIRST_STOP_LIMIT = 5 * SECOND;
/** A process that takes longer to stop is killed. The whole shutdown has ten seconds. */
const STOP_LIMIT = 9 * SECOND;

/** How many of a process's latest deaths are remembered. */
const DEATHS_KEPT = 10;

/** A process of the plan, with the operating system's process that runs for it now. */
interface Member {
  plan: ProcessPlan;
  /** `undefined` while the process is started again. */
  process: RoleProcess | undefined;
  deaths: Death[];
}

/** The processes of a supervisor. */
export interface ProcessGroup extends OtherProcesses {
  /**
   * Gives a forked process its roles, and starts it again whenever it ends.
   * @throws the error of a process that cannot start, for example a {PortTakenError}.
   */
  add(plan: ProcessPlan, process: RoleProcess): Promise<void>;
  /** The URL of the API. */
  url(): string;
  /** Where one of the processes with the role api answers operators, each in its turn; undefined: none runs now. */
  findOperatorsUrl(): string | undefined;
  /**
   * Replaces the processes one by one. Each new process is ready before the old process stops. If a new process cannot start, the old
   * process and all later ones stay, until they end.
   * @returns whether all were replaced.
   */
  restart(next: Pick<Assignment, 'config' | 'servers'>): Promise<boolean>;
  /** Rejects when a process keeps ending while it starts. */
  failed: Promise<never>;
  /** Stops the API processes, then the others. Kills processes that take longer than nine seconds. */
  stop(): Promise<void>;
}

/** A process that was killed because it did not answer. */
export interface KilledProcess {
  name: string;
  pid: number;
  /** Seconds for which it did not answer. */
  silentFor: number;
}

/**
 * @param options.announce receives one-line messages for a person.
 * @param options.onKilled is told of each process that was killed because it did not answer.
 */
export function createProcessGroup(
  given: Pick<Assignment, 'config' | 'servers'>,
  { announce, onKilled }: { announce: (line: string) => void; onKilled: (killed: KilledProcess) => void },
): ProcessGroup {
  let { config, servers } = given;
  let url = '';
  const members: Member[] = [];
  const alive = new Map<RoleProcess, ProcessPlan>();
  /** Where processes with the role api answer operators. */
  const operatorsUrls = new WeakMap<RoleProcess, string>();
  let asked = 0;
  const stopping = new AbortController();
  let giveUp = (_reason: Error) => {};
  const failed = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  // Without this, a rejection that comes before anything awaits `failed` would end the supervisor.
  failed.catch(() => {});

  async function begin(plan: ProcessPlan, process: RoleProcess): ReturnType<RoleProcess['start']> {
    alive.set(process, plan);
    void process.ended.then(() => alive.delete(process));
    // With PORT=0, node:cluster gives all processes the same port while one of them holds it. After that, the port's number is needed.
    const isHeld = members.some(
      ({ process: other, plan: { roles } }) => other !== undefined && roles.includes('api'),
    );
    if (url !== '' && !isHeld) config = { ...config, port: Number(/(?<!\d)\d+$/.exec(url)?.[0]) };
    const outcome = await process.start({ ...plan, config, servers });
    if (outcome.state === 'failed') process.kill();
    if (outcome.state === 'ready' && outcome.url !== '') {
      ({ url } = outcome);
      operatorsUrls.set(process, outcome.operatorsUrl);
    }
    return outcome;
  }

  function watch(member: Member, process: RoleProcess): void {
    member.process = process;
    void process.ended.then((how) => {
      if (member.process === process) void startAgain(member, how);
    });
  }

  async function startAgain(member: Member, reason: string, { atStart = false } = {}): Promise<void> {
    // A process that is told to stop may still be starting.
    if (stopping.signal.aborted) return;
    const { name } = member.plan;
    member.process = undefined;
    member.deaths = [...member.deaths, { at: Date.now(), atStart }].slice(-DEATHS_KEPT);
    const pause = decideRestart(member.deaths, Date.now());
    if (pause === 'give up')
      return giveUp(new Error(`${name} keeps ending while it starts, the last time with ${reason}`));
    announce(`${name} ended unexpectedly (${reason}) and is started again in ${pause / SECOND} s.`);
    await sleep(pause);
    if (stopping.signal.aborted) return;
    const process = forkRoleProcess(name);
    const outcome = await begin(member.plan, process);
    if (stopping.signal.aborted) return;
    if (outcome.state === 'ready') watch(member, process);
    else await startAgain(member, outcome.message, { atStart: true });
  }

  const watchdog = createWatchdog<RoleProcess>();
  const timer = setInterval(() => {
    const ready = members.flatMap((member) => (member.process === undefined ? [] : [member.process]));
    const { ping, kill } = watchdog.tick(Date.now(), ready);
    for (const process of ping) {
      // A process that has ended answers nothing, and is started again.
      const answer = process.functions.ping().catch(() => {});
      void answer.then(() => watchdog.answered(process));
    }
    for (const process of kill) {
      const name = alive.get(process)?.name ?? '';
      const silentFor = (MOST_MISSED * PING_EVERY) / SECOND;
      announce(`${name} has not answered for ${silentFor} s, and is killed.`);
      process.kill();
      onKilled({ name, pid: process.pid, silentFor });
    }
  }, PING_EVERY);
  stopping.signal.addEventListener('abort', () => clearInterval(timer));

  /** Asks a process, which may be busy or have ended. @returns undefined: it does not answer. */
  async function ask<T>(
    { process }: Member,
    question: (functions: RoleProcess['functions']) => Promise<T>,
  ): Promise<T | undefined> {
    if (process === undefined) return undefined;
    const limit = new AbortController();
    try {
      const patience = sleep(ANSWER_LIMIT, undefined, { signal: limit.signal });
      patience.catch(() => {});
      return await Promise.race([question(process.functions), patience]);
    } catch {
      return undefined;
    } finally {
      limit.abort();
    }
  }

  async function stopOne(process: RoleProcess, { handOver = false, limit = STOP_LIMIT } = {}): Promise<void> {
    // The process ends instead of answering.
    process.functions.stop(handOver).catch(() => {});
    const timer = setTimeout(process.kill, limit);
    await process.ended;
    clearTimeout(timer);
  }

  return {
    failed,
    url: () => url,
    findOperatorsUrl() {
      const urls = members.flatMap(({ process }) => {
        const own = process && operatorsUrls.get(process);
        return own === undefined ? [] : [own];
      });
      asked += 1;
      return urls[asked % urls.length];
    },
    async add(plan, process) {
      const member: Member = { plan, process: undefined, deaths: [] };
      members.push(member);
      const outcome = await begin(plan, process);
      if (outcome.state === 'failed')
        throw outcome.portTaken ? new PortTakenError(outcome.message) : new Error(outcome.message);
      if (outcome.state === 'ready') watch(member, process);
      else await Promise.race([startAgain(member, outcome.message, { atStart: true }), failed]);
    },

    async restart(next) {
      config = { ...next.config, port: config.port };
      servers = next.servers;
      for (const member of members) {
        const before = member.process;
        // A process that is being started again is new anyway.
        if (before === undefined) continue;
        const process = forkRoleProcess(member.plan.name);
        const outcome = await begin(member.plan, process);
        if (stopping.signal.aborted) return false;
        if (outcome.state !== 'ready') {
          announce(
            `${member.plan.name} could not be replaced (${outcome.message}). The running processes stay.`,
          );
          return false;
        }
        if (member.process !== before) {
          // The old process has ended in the meantime, and is started again.
          process.kill();
          continue;
        }
        watch(member, process);
        await stopOne(before, { handOver: true });
      }
      return true;
    },

    async stop() {
      stopping.abort();
      const deadline = performance.now() + STOP_LIMIT;
      const all = [...alive];
      const isFirst = ([, { roles }]: (typeof all)[number]) => roles.includes('api');
      const first = Promise.all(all.filter(isFirst).map(([process]) => stopOne(process)));
      await Promise.race([first, sleep(FIRST_STOP_LIMIT, undefined, { ref: false })]);
      const others = all.filter((entry) => !isFirst(entry));
      const limit = deadline - performance.now();
      await Promise.all(others.map(([process]) => stopOne(process, { limit })));
      await first;
    },

    readHealth: () =>
      Promise.all(
        members.map(async (member) => {
          const answer = await ask(member, ({ ping }) => ping());
          const status = member.process === undefined ? 'not running' : answer ? 'ok' : 'does not answer';
          return { name: member.plan.name, status };
        }),
      ),

    readMetrics: () =>
      Promise.all(
        members.map(async (member) => ({
          name: member.plan.name,
          metrics: await ask(member, ({ readMetrics }) => readMetrics()),
        })),
      ),
  };
}
