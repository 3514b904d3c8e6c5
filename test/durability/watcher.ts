import { setTimeout as sleep } from 'node:timers/promises';
import type { InjectedFault } from './faults/inject.ts';
import { type FaultKind, subjectsOf } from './plan.ts';

interface Answer {
  mysql: string;
  redis: string;
  /** Only `status` has them. */
  problems?: readonly string[];
}

/** What `/readyz` or `status` said, and when it was asked. */
export interface Statement extends Required<Answer> {
  source: '/readyz' | 'status';
  /** Milliseconds since 1970. */
  from: number;
  to: number;
}

const NO_PROBLEMS = { problems: [] };

const SECOND = 1_000;
const READINESS_EVERY = SECOND;
const STATUS_EVERY = 5 * SECOND;

/** Asks `/readyz` every second and `status` every 5 s, until the signal. A process that does not answer says nothing. */
export async function watch(
  installation: { readonly url: string; readStatus(): Promise<unknown> },
  signal: AbortSignal,
): Promise<Statement[]> {
  const statements: Statement[] = [];
  const ask = async (source: Statement['source'], every: number, read: () => Promise<unknown>) => {
    while (!signal.aborted) {
      const from = Date.now();
      const said = await read().catch(() => null);
      if (said !== null)
        statements.push({ ...NO_PROBLEMS, ...(said as Answer), source, from, to: Date.now() });
      await sleep(every, undefined, { signal }).catch(() => {});
    }
  };
  const readReadiness = async () => {
    const answer = await fetch(`${installation.url}/readyz`, { signal: AbortSignal.timeout(10 * SECOND) });
    return answer.json();
  };
  await Promise.all([
    ask('/readyz', READINESS_EVERY, readReadiness),
    ask('status', STATUS_EVERY, () => installation.readStatus()),
  ]);
  return statements;
}

interface Truth {
  server: 'mysql' | 'redis';
  /** What must be said of the server during the fault. */
  says: RegExp;
  /** Milliseconds until it must be said. */
  within: number;
}

const UNREACHABLE = /^(not available|does not answer|has not finished)/;

/** Faults of which something must be said all the time. A disk counts as full only when a statement has found no room. */
const TRUTHS: Partial<Record<FaultKind, Truth>> = {
  'mysql outage': { server: 'mysql', says: UNREACHABLE, within: 5 * SECOND },
  'mysql frozen': { server: 'mysql', says: UNREACHABLE, within: 8 * SECOND },
  'mysql read-only': { server: 'mysql', says: /^refuses writes: it is read-only$/, within: 4 * SECOND },
  'redis outage': { server: 'redis', says: /^not available$/, within: 5 * SECOND },
  'redis frozen': { server: 'redis', says: UNREACHABLE, within: 8 * SECOND },
  'redis out of memory': { server: 'redis', says: /^is out of memory/, within: 4 * SECOND },
};

/** The clock of a process is said by its next heartbeat. */
const CLOCK_SAID_WITHIN = 12 * SECOND;

/** After a fault, this long is given to the server, to heartbeats, and to the 15 s for which a full disk counts. */
const SETTLED_AFTER = 25 * SECOND;

/**
 * Compares what was said with what was true. One statement alone may be late on a busy machine, so it counts only if the next one of its
 * source says the same.
 * @returns what was said wrongly, or was not said.
 */
export function findWrongStatements(
  statements: readonly Statement[],
  faults: readonly InjectedFault[],
): string[] {
  const found: string[] = [];
  for (const source of ['/readyz', 'status'] as const) {
    let before: readonly string[] = [];
    for (const it of statements.filter((statement) => statement.source === source)) {
      const wrong = wrongIn(it, faults);
      found.push(...wrong.filter((text) => before.includes(text)));
      before = wrong;
    }
  }
  return found;
}

function wrongIn(it: Statement, faults: readonly InjectedFault[]): string[] {
  const during = (fault: InjectedFault) => fault.start <= it.to && it.from <= fault.end + SETTLED_AFTER;
  const wrong: string[] = [];
  for (const server of ['mysql', 'redis'] as const) {
    const own = faults.filter((fault) => during(fault) && subjectsOf(fault).includes(server));
    const others = own.length === 0 && !faults.some((fault) => during(fault) && fault.kind === 'clock jump');
    if (others && it[server] !== 'ok')
      wrong.push(`${it.source} said that ${server} ${it[server]}, without a fault`);
    for (const fault of own) {
      const truth = TRUTHS[fault.kind];
      if (truth?.server !== server || !covers(fault, truth.within, it)) continue;
      if (!truth.says.test(it[server])) wrong.push(`${it.source} said "${it[server]}" during ${fault.kind}`);
    }
  }
  return [...wrong, ...wrongProblems(it, faults.filter(during))];
}

const covers = ({ start, end }: InjectedFault, within: number, it: Statement) =>
  start + within <= it.from && it.to <= end;

function wrongProblems(it: Statement, near: readonly InjectedFault[]): string[] {
  if (it.source !== 'status') return [];
  const isNear = (pattern: RegExp) => near.some(({ kind }) => pattern.test(kind));
  const wrong = it.problems.filter((problem) => {
    if (problem.startsWith('No process runs')) return !isNear(/^(kill|stop|clock)/);
    if (problem.startsWith('The clock of')) return !isNear(/^clock/);
    return false;
  });
  const apart = near.find((fault) => fault.kind === 'clocks apart' && covers(fault, CLOCK_SAID_WITHIN, it));
  const isRead = it.mysql === 'ok' && !isNear(/^mysql/);
  const isSilent =
    apart !== undefined && isRead && !it.problems.some((text) => text.startsWith('The clock of'));
  return [
    ...wrong.map((problem) => `status said without a fault: ${problem}`),
    ...(isSilent ? ['status said nothing of the clocks during clocks apart'] : []),
  ];
}
