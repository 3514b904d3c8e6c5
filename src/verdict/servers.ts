import { clockProblem, type Health, type ServerState, sentenceOf } from '../database/health.ts';
import { HEARTBEATS_SETTLE, type ProcessSeen } from '../database/processes.ts';
import { ROLES, type RoleName } from '../platform/config.ts';
import { countOf } from '../platform/text.ts';
import type { Figures } from './state/figures.ts';
import { type Trouble, troubleOf } from './trouble.ts';

/** The troubles of MySQL, Redis and the processes. */

const PROCESSES = { text: 'Processes', href: '/ops#processes' };
const SERVERS = { text: 'Servers', href: '/ops#processes' };

/** MySQL and Redis, as the process that asks sees them. */
export interface SeenServers extends Pick<Health, 'mysql' | 'redis'> {
  /** What MySQL refuses although it works. Default: nothing. */
  mysqlLimit?: string | null;
  /** Problems with the hosts of DATABASE_URL, in one sentence each. */
  hostProblems: readonly string[];
  /** Whether migrations have still to be run. Default: false. */
  isSchemaOld?: boolean;
  /** Since when the caller has seen MySQL work, by `performance.now()`. Default: it cannot tell. */
  worksSince?: number;
}

/** A small write succeeds on a full disk. The larger writes of a running process may have been refused. */
export function withRefusal(servers: SeenServers, processes: readonly ProcessSeen[]): SeenServers {
  if (servers.mysql !== 'ok') return servers;
  const refused = processes.find((it) => it.running && it.mysqlProblem?.startsWith('refuses writes'));
  return refused?.mysqlProblem ? { ...servers, mysql: refused.mysqlProblem } : servers;
}

/** What follows from a state of MySQL. Another process may see another state, so only what is certain is said as certain. */
function consequenceOf(mysql: ServerState): string {
  if (mysql === 'not available') return 'Nothing is accepted, and nothing is delivered.';
  if (mysql.startsWith('refuses writes')) return 'Imports are answered with 503, and deliveries wait.';
  return 'Imports may be answered with 503, or wait after a 202, and deliveries may wait.';
}

export function findServerTroubles({
  mysql,
  mysqlLimit = null,
  redis,
  hostProblems,
  isSchemaOld = false,
}: SeenServers): Trouble[] {
  const of = (kind: 'mysql' | 'redis', server: string, state: string, consequence: string) =>
    state === 'ok'
      ? []
      : [troubleOf(kind, { sentence: sentenceOf(server, state), help: consequence, page: SERVERS })];
  return [
    ...of('mysql', 'MySQL', mysql, `${consequenceOf(mysql)} What was accepted is stored in MySQL.`),
    ...(mysql === 'ok' && mysqlLimit !== null
      ? [troubleOf('mysql_settings', { sentence: sentenceOf('MySQL', mysqlLimit), page: SERVERS })]
      : []),
    ...(isSchemaOld ? [troubleOf('schema', { page: SERVERS })] : []),
    ...hostProblems.map((sentence) => troubleOf('mysql_hosts', { sentence, page: SERVERS })),
    ...of(
      'redis',
      'Redis',
      redis,
      'Imports are still accepted. Work that has not begun waits until Redis is back, and nothing is lost.',
    ),
  ];
}

/** For each role, the consequence when no process has it. */
const WITHOUT_ROLE: Record<RoleName, (figures: Figures) => string> = {
  api: () => 'No request is answered.',
  importer: ({ imports }) => `${countOf(imports.queued + imports.running, 'import')} waiting.`,
  delivery: ({ pending }) =>
    `${countOf(pending.healthy + pending.failing, 'delivery', 'deliveries')} pending.`,
  maintenance: () => 'What Redis forgets is not queued again.',
};

/** Roles without a process, and what the running processes report. */
export function findProcessTroubles(
  processes: readonly ProcessSeen[],
  servers: SeenServers,
  figures: Figures,
): Trouble[] {
  // A process that cannot write its heartbeat may be running.
  const isKnown = servers.mysql === 'ok' && areHeartbeatsSettled(processes, servers.worksSince);
  return [
    ...(isKnown ? findMissingRoles(processes, figures) : []),
    ...processes.flatMap((it) =>
      it.killedAt === null
        ? []
        : [
            troubleOf('process_killed', {
              sentence: `${nameOf(it)} did not answer, and was killed by its supervisor.`,
              since: it.killedAt,
              page: PROCESSES,
            }),
          ],
    ),
    ...findProcessProblems(processes, servers).map((sentence) =>
      troubleOf('process', { sentence, page: PROCESSES }),
    ),
    ...findDifferentZones(processes),
    ...findPlainText(processes),
  ];
}

/** Processes with different values of TIME_ZONE_OFFSET would tell the same movement with different times. */
function findDifferentZones(processes: readonly ProcessSeen[]): Trouble[] {
  const running = processes.filter((it) => it.running);
  const zones = [...new Set(running.map((it) => it.timeZoneOffset))];
  if (zones.length < 2) return [];
  const namesIn = (zone: string) => running.filter((it) => it.timeZoneOffset === zone).map(nameOf);
  const told = zones.map((zone) => `${zone} in ${namesIn(zone).join(' and ')}`);
  return [
    troubleOf('process', {
      sentence: `TIME_ZONE_OFFSET is ${told.join(', but ')}.`,
      help: 'It is part of every date_readed. Give all processes the same TIME_ZONE_OFFSET, and start them again.',
      page: PROCESSES,
    }),
  ];
}

/** Processes whose operators' listener gets passwords from other machines in plain text, by its address. */
function findPlainText(processes: readonly ProcessSeen[]): Trouble[] {
  const hosts = processes.flatMap((it) => (it.running && it.plainTextHost !== null ? it.plainTextHost : []));
  return [...new Set(hosts)].map(plainTextTrouble);
}

/** The trouble of an operators' listener without TLS. @param host its address, which is not loopback. */
export const plainTextTrouble = (host: string): Trouble =>
  troubleOf('ops_plain_text', {
    sentence: `Operators' tokens and passwords cross the network in plain text, because OPS_HOST is ${host} and there is no TLS.`,
    page: PROCESSES,
  });

function findMissingRoles(processes: readonly ProcessSeen[], figures: Figures): Trouble[] {
  if (!processes.some((it) => it.running))
    return [
      troubleOf('role_missing', {
        count: ROLES.length,
        sentence: 'No process runs.',
        help: `${ROLES.map((role) => WITHOUT_ROLE[role](figures)).join(' ')} Start the service.`,
        page: PROCESSES,
      }),
    ];
  return ROLES.filter((role) => countRunning(processes, role) === 0).map((role) =>
    troubleOf('role_missing', {
      sentence: `No process runs the role ${role}.`,
      help: `${WITHOUT_ROLE[role](figures)} Start one.`,
      page: PROCESSES,
    }),
  );
}

/** How many running processes have a role. */
export const countRunning = (processes: readonly ProcessSeen[], role: string): number =>
  processes.filter(({ running, roles }) => running && roles.includes(role)).length;

/**
 * Whether a missing heartbeat means that the process does not run. After an outage of MySQL, a process that runs may not have written its
 * heartbeat yet. It has done so once another one has written its heartbeats for a while, or once MySQL has worked for as long.
 */
export function areHeartbeatsSettled(
  processes: readonly ProcessSeen[],
  worksSince = Number.POSITIVE_INFINITY,
): boolean {
  const running = processes.filter((it) => it.running);
  return (
    processes.length === 0 ||
    (running.length > 0 && running.every((it) => it.steady)) ||
    performance.now() - worksSince >= HEARTBEATS_SETTLE
  );
}

/**
 * What running processes see of MySQL, Redis, DNS and their own clocks, in one sentence for each problem.
 * @param seen the states that the caller sees itself. It has said those that are not ok.
 */
function findProcessProblems(
  processes: readonly ProcessSeen[],
  seen: Pick<Health, 'mysql' | 'redis'>,
): string[] {
  const running = processes.filter((it) => it.running);
  const seers = new Map<string, ProcessSeen[]>();
  const note = (sentence: string, it: ProcessSeen) =>
    seers.set(sentence, [...(seers.get(sentence) ?? []), it]);
  for (const it of running) {
    if (it.mysqlProblem !== null && seen.mysql === 'ok') note(sentenceOf('MySQL', it.mysqlProblem), it);
    if (it.redisProblem !== null && seen.redis === 'ok') note(sentenceOf('Redis', it.redisProblem), it);
    if (it.dnsProblem !== null) note(sentenceOf('DNS', it.dnsProblem), it);
  }
  const problems = [...seers].map(([sentence, [first, ...others]]) => {
    if (first === undefined || others.length + 1 === running.length) return sentence;
    const more =
      others.length === 0 ? '' : ` and ${countOf(others.length, 'other process', 'other processes')}`;
    return `${sentence.slice(0, -1)}, as ${nameOf(first)}${more} saw.`;
  });
  const clocks = running.flatMap((it) => {
    const problem = it.clockAhead === null ? null : clockProblem(it.clockAhead);
    return problem === null ? [] : [`The clock of ${nameOf(it)} is ${problem}`];
  });
  return [...problems, ...clocks];
}

const nameOf = ({ name, roles, host }: ProcessSeen) => `${name === '' ? roles.join(', ') : name} on ${host}`;

/** How many running processes have each role. */
export const countRoles = (processes: readonly ProcessSeen[]): Record<RoleName, number> =>
  Object.fromEntries(ROLES.map((role) => [role, countRunning(processes, role)])) as Record<RoleName, number>;
