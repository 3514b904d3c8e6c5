import { createDice, type Dice } from './dice.ts';
import { RECEIVER_MODES, type ReceiverMode } from './receiver-modes.ts';

export const FAULT_KINDS = [
  'kill api',
  'kill importer',
  'kill delivery',
  'kill maintenance',
  'stop api',
  'stop importer',
  'stop delivery',
  'spin api',
  'spin delivery',
  'redis kill',
  'redis flushall',
  'redis outage',
  'redis frozen',
  'redis out of memory',
  'mysql kill',
  'mysql outage',
  'mysql frozen',
  'mysql locked table',
  'mysql disk full',
  'mysql read-only',
  'mysql and redis outage',
  'kill connections',
  'deadlock import',
  'deadlock delivery',
  'kill receivers',
  'clock jump',
  'clocks apart',
  'hostile files',
  'old rows',
  ...RECEIVER_MODES.map((mode) => `receiver ${mode}` as const),
] as const;

const OF_DATABASE_CLUSTER = [
  'mysql primary kill',
  'mysql primary cut off',
  'mysql primary frozen',
  'mysql primary starts alone',
  'mysql no majority',
  'mysql member restart',
  'mysql primary and redis kill',
] as const;

/** Faults that only clusters have, by what MySQL and Redis are. */
const CLUSTER_FAULTS = {
  mysql: {
    alone: [],
    replication: ['mysql roles change', 'mysql two writable'],
    'group-replication': OF_DATABASE_CLUSTER,
    galera: OF_DATABASE_CLUSTER,
  },
  redis: {
    alone: [],
    sentinel: ['redis failover', 'redis master kill'],
    cluster: ['redis master kill', 'redis slots move', 'redis cluster outage'],
  },
} as const;

type Setups = { [server in keyof typeof CLUSTER_FAULTS]: keyof (typeof CLUSTER_FAULTS)[server] };

export type ClusterFaultKind =
  | (typeof OF_DATABASE_CLUSTER)[number]
  | 'mysql roles change'
  | 'mysql two writable'
  | 'redis failover'
  | 'redis master kill'
  | 'redis slots move'
  | 'redis cluster outage';

export type FaultKind = (typeof FAULT_KINDS)[number] | ClusterFaultKind;

/** The faults that are possible on these servers. */
export const faultKindsOf = ({ mysql, redis }: Setups): readonly FaultKind[] =>
  [
    ...CLUSTER_FAULTS.mysql[mysql],
    ...CLUSTER_FAULTS.redis[redis],
    ...FAULT_KINDS.filter((kind) => {
      const needsOneMysql = /mysql|^deadlock|connections$|^clock/.test(kind);
      return (mysql === 'alone' || !needsOneMysql) && (redis === 'alone' || !kind.includes('redis'));
    }),
  ].filter((kind) => redis === 'alone' || kind !== 'mysql primary and redis kill');

/** One planned fault. */
export interface PlannedFault {
  /** Seconds after the load began. */
  at: number;
  kind: FaultKind;
  /** Which of the processes of a role, or which third of the receivers; from 0. */
  which: number;
  /** Seconds that it lasts; 0 for a moment. */
  seconds: number;
}

/** The subject of a fault. Two faults never have the same subject at the same time. */
export function subjectsOf({ kind, which }: Pick<PlannedFault, 'kind' | 'which'>): string[] {
  if (kind === 'mysql and redis outage' || kind === 'mysql primary and redis kill') return ['redis', 'mysql'];
  if (kind.startsWith('redis')) return ['redis'];
  if (kind.startsWith('mysql') || kind.startsWith('deadlock') || isSql(kind)) return ['mysql'];
  if (kind.startsWith('clock')) return ['clock'];
  if (kind === 'hostile files') return ['files'];
  if (kind === 'kill receivers') return ['receivers 0', 'receivers 1', 'receivers 2'];
  if (kind.startsWith('receiver')) return [`receivers ${which}`];
  const process = `${kind.slice(kind.indexOf(' ') + 1)} ${which}`;
  // Only one process can have an inspector.
  return kind.startsWith('spin') ? [process, 'inspector'] : [process];
}

/** Done with statements, for which MySQL must be reachable. */
const isSql = (kind: FaultKind) => kind === 'kill connections' || kind === 'old rows';

/** Seconds that faults last. The long ones (20 s, 60 s) are shorter in a short run. */
export interface Lengths {
  stopped: number;
  outage: number;
  receiver: number;
}

export const lengthsFor = (minutes: number): Lengths =>
  minutes < 5 ? { stopped: 14, outage: 8, receiver: 10 } : { stopped: 20, outage: 60, receiver: 25 };

const isLong = (kind: FaultKind) => /outage$|^(redis|mysql) frozen$|no majority$/.test(kind);

/**
 * Plans the faults of a run, in order. Every kind is used once, in random order, before one is used again. Faults overlap if
 * they have different subjects. In the last 12 s there is only load.
 * @param gap seconds between the beginnings of two faults, on average.
 */
export function makePlan({
  seed,
  minutes,
  kinds,
  gap,
}: {
  seed: number;
  minutes: number;
  kinds: readonly FaultKind[];
  gap: number;
}): PlannedFault[] {
  const dice = createDice(seed);
  const lengths = lengthsFor(minutes);
  const end = minutes * 60 - 12;
  const busyUntil = new Map<string, number>();
  const plan: PlannedFault[] = [];
  let bag: FaultKind[] = [];
  let round = 0;
  for (let at = 3; at < end; at += gap * (0.3 + 1.4 * dice.next())) {
    if (bag.length === 0) {
      // Outages of a minute come only in every third round. Otherwise they would fill half of the run.
      bag = dice.shuffle(kinds.filter((kind) => !isLong(kind) || round % 3 === 0 || kinds.length < 4));
      round += 1;
    }
    const fault = throwFault(dice, bag, at, lengths, busyUntil);
    if (fault === null || fault.at + fault.seconds > end) continue;
    bag.splice(bag.indexOf(fault.kind), 1);
    // After an outage it takes some seconds until everything runs again. Another fault in that time would hide this one.
    const restoring = restoringAfter(fault.kind);
    for (const subject of subjectsOf(fault)) busyUntil.set(subject, at + fault.seconds + restoring);
    plan.push(fault);
  }
  return plan;
}

/** MariaDB may end when its disk is full, and then needs some seconds to recover. */
const restoringAfter = (kind: FaultKind) => {
  if (isOfDatabaseCluster(kind)) return MEMBER_RESTORED;
  return kind === 'mysql disk full' ? 12 : 4;
};

/** Seconds after which a cluster has a new primary, and has all members again. With two of three members lost, it would stop for good. */
const MEMBER_RESTORED = 35;

/** Seconds after which a killed primary starts again: before and after the others have another one. */
const STARTS_ALONE_AFTER = [2, 5, 8, 12];

const isOfDatabaseCluster = (kind: FaultKind) => (OF_DATABASE_CLUSTER as readonly string[]).includes(kind);

/** A fault of the first kind in the bag whose subjects are free, or null. */
function throwFault(
  dice: Dice,
  bag: readonly FaultKind[],
  at: number,
  lengths: Lengths,
  busyUntil: ReadonlyMap<string, number>,
): PlannedFault | null {
  for (const kind of bag) {
    const which = kind.startsWith('receiver ') ? dice.whole(0, 2) : isPaired(kind) ? dice.whole(0, 1) : 0;
    const fault = { at: Math.round(at * 10) / 10, kind, which, seconds: secondsOf(dice, kind, lengths) };
    if (subjectsOf(fault).every((subject) => (busyUntil.get(subject) ?? 0) <= at)) return fault;
  }
  return null;
}

/** Faults in which a server answers, and part of its work is not possible. */
const STOPPING: readonly FaultKind[] = [
  'mysql locked table',
  'mysql disk full',
  'mysql read-only',
  'redis out of memory',
];

/** Seconds after which a process that does not answer has been killed, by its supervisor or by us. */
const SPINNING = 40;

const isPaired = (kind: FaultKind) => /(api|importer|delivery|maintenance)$/.test(kind);

function secondsOf(dice: Dice, kind: FaultKind, { stopped, outage, receiver }: Lengths): number {
  if (kind.startsWith('spin')) return SPINNING;
  if (kind.startsWith('stop') || STOPPING.includes(kind)) return stopped;
  if (kind === 'hostile files') return receiver;
  if (kind === 'mysql no majority' || kind === 'redis cluster outage') return Math.min(outage, 30);
  if (kind === 'mysql two writable') return dice.whole(2, 6);
  if (kind === 'mysql primary starts alone') return STARTS_ALONE_AFTER[dice.whole(0, 3)] ?? 0;
  if (isOfDatabaseCluster(kind)) return dice.whole(1, 5);
  if (isLong(kind)) return outage;
  if (kind === 'redis kill' || kind === 'mysql kill') return dice.whole(1, 3);
  if (kind === 'kill connections' || kind.startsWith('deadlock')) return 5;
  if (kind.startsWith('clock')) return outage;
  if (kind === 'kill receivers') return 2;
  return kind.startsWith('receiver') ? dice.whole(Math.ceil(receiver / 2), receiver) : 0;
}

export const isReceiverFault = (kind: FaultKind): kind is `receiver ${ReceiverMode}` =>
  kind.startsWith('receiver ');
