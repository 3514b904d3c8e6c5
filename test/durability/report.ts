import { FINDINGS, type Verdict } from './checker.ts';
import type { Left } from './completion.ts';
import type { InjectedFault } from './faults/inject.ts';
import type { FeedRecord } from './load/feed-reader.ts';
import type { PollerRecord } from './load/poller.ts';
import type { ClientRecord } from './load/upload.ts';

/** Cases shown of each finding. */
const SHOWN = 5;

export interface RunResult {
  seed: number;
  minutes: number;
  faults: readonly InjectedFault[];
  clientRecord: ClientRecord;
  pollerRecords: readonly PollerRecord[];
  feedRecords: readonly FeedRecord[];
  left: Left;
  /** The findings of `ledgerbell verify` at the end. */
  wrongBooks: readonly string[];
  /** What `/readyz` and `status` said that was not true, or did not say. */
  wrongStatements: readonly string[];
  leaks: readonly string[];
  verdict: Verdict;
  /** Processes that ended without having been killed. */
  ownEnds: readonly string[];
  /** Processes that did not end cleanly on SIGTERM. */
  badEnds: readonly string[];
  /** See renderPauses. */
  pauses: string;
  /** Faults that this machine does not allow, as sentences. */
  leftOut: readonly string[];
}

export interface Outcome {
  clean: boolean;
  /** In Markdown. */
  table: string;
  /** Each case of what must not happen; empty when clean. */
  findings: string[];
}

/** Renders the table of a run, and checks that every count is 0 that must be. */
export function outcomeOf(result: RunResult): Outcome {
  const {
    verdict,
    clientRecord,
    pollerRecords,
    feedRecords,
    left,
    wrongBooks,
    wrongStatements,
    leaks,
    ownEnds,
    badEnds,
  } = result;
  const explained = [...verdict.explained.values()].reduce((sum, count) => sum + count, 0);
  const mustBeEmpty: [string, readonly string[]][] = [
    ...FINDINGS.map((name): [string, string[]] => [name, verdict.findings[name]]),
    [
      'correct requests refused',
      [...clientRecord.wrong, ...[...pollerRecords, ...feedRecords].flatMap(({ wrong }) => wrong)],
    ],
    ['idempotency keys stuck at 409', clientRecord.stuckKeys],
    ['still undone at the end', describeLeft(left)],
    ['books that are not right', wrongBooks],
    ['wrong statements of /readyz and status', wrongStatements],
    ['secrets or movements in Redis or logs', leaks],
    ['processes that ended by themselves', ownEnds],
    ['processes that did not end on SIGTERM', badEnds],
  ];
  const rows: [string, string | number][] = [
    ['faults injected', describeFaults(result)],
    ['movements sent in', verdict.sent],
    ['requests, of these sent again', `${clientRecord.requests}, ${clientRecord.resent}`],
    ['other answers than 202', describeCounts(clientRecord.refusals)],
    ['acknowledged with 202', verdict.acknowledged],
    ['stored', verdict.stored],
    ['of these removed by retention', verdict.removed],
    ['withdrawals', describeCounts(countKinds(clientRecord.withdrawals))],
    ['movements withdrawn', verdict.withdrawn],
    ['matching pairs of webhook and movement', verdict.matched],
    ['delivered', verdict.delivered],
    ['ended as failed, because the movement was withdrawn', verdict.ended],
    ['POSTs received', verdict.posts],
    ['duplicates explained by a fault', `${explained} (${describeCounts(verdict.explained)})`],
    ['pages read by pollers', pollerRecords.reduce((sum, { pages }) => sum + pages, 0)],
    ['events read from feeds', feedRecords.reduce((sum, { seen }) => sum + seen.size, 0)],
    [
      'read again before they were acknowledged',
      feedRecords.reduce((sum, { repeated }) => sum + repeated, 0),
    ],
    ...mustBeEmpty.map(([name, cases]): [string, string] => [name, `**${cases.length}**`]),
  ];
  const findings = mustBeEmpty.flatMap(([name, cases]) => [
    ...cases.slice(0, SHOWN).map((it) => `${name}: ${it}`),
    ...(cases.length > SHOWN ? [`${name}: … and ${cases.length - SHOWN} more`] : []),
  ]);
  const table = [
    `| seed ${result.seed}, ${result.minutes} minutes | |`,
    '|---|---|',
    ...rows.map(([name, value]) => `| ${name} | ${value} |`),
    ...(result.pauses === '' ? [] : ['', result.pauses]),
  ].join('\n');
  return { clean: findings.length === 0, table, findings };
}

function describeFaults({ faults, leftOut }: RunResult): string {
  const counts = new Map<string, number>();
  for (const { kind } of faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const note = leftOut.map((it) => `; ${it}`).join('');
  return `${faults.length}: ${describeCounts(counts)}${note}`;
}

const describeCounts = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'none';

/** How many withdrawals are of imports, and how many of statements. */
function countKinds(withdrawals: ReadonlyMap<string, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const path of withdrawals.values()) {
    const [kind = ''] = path.split('/');
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

function describeLeft({ imports, withdrawals, deliveries, files }: Left): string[] {
  const isNothing = imports + withdrawals + deliveries + files === 0;
  return isNothing
    ? []
    : [`${imports} imports, ${withdrawals} withdrawals, ${deliveries} deliveries, ${files} files of sources`];
}
