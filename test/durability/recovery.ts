import type { InjectedFault } from './faults/inject.ts';
import type { Sent } from './load/upload.ts';
import type { FaultKind } from './plan.ts';
import type { Receipt } from './receipts.ts';

/** How long writes and deliveries paused because of one fault. Seconds. */
interface Pause {
  kind: FaultKind;
  /** From the fault until the cluster itself took writes again. */
  cluster: number;
  /** From then until the next 202, and until a movement that was accepted since was delivered. null: none came. */
  accepted: number | null;
  delivered: number | null;
}

/** Finds out how long each fault paused the service after which a cluster had to find a new primary. */
export function findPauses(
  faults: readonly InjectedFault[],
  sent: ReadonlyMap<string, Sent>,
  receipts: readonly Receipt[],
): Pause[] {
  return faults.flatMap(({ kind, start, writableAt }) => {
    if (writableAt === undefined) return [];
    const isNew = (name: string) => (sent.get(name)?.acknowledgedAt ?? 0) > writableAt;
    const accepted = [...sent.values()].flatMap(({ acknowledgedAt = 0 }) =>
      acknowledgedAt > writableAt ? [acknowledgedAt] : [],
    );
    const delivered = receipts.flatMap(({ name, answeredAt }) =>
      answeredAt !== null && answeredAt > writableAt && isNew(name) ? [answeredAt] : [],
    );
    const after = (moments: readonly number[]) =>
      moments.length === 0
        ? null
        : (moments.reduce((first, moment) => Math.min(first, moment)) - writableAt) / 1_000;
    return [
      {
        kind,
        cluster: (writableAt - start) / 1_000,
        accepted: after(accepted),
        delivered: after(delivered),
      },
    ];
  });
}

/** Renders the pauses in Markdown; empty if there were none. */
export function renderPauses(pauses: readonly Pause[]): string {
  if (pauses.length === 0) return '';
  const seconds = (value: number | null) => (value === null ? 'none' : value.toFixed(1));
  const rows = pauses.map(
    ({ kind, cluster, accepted, delivered }) =>
      `| ${kind} | ${seconds(cluster)} | ${seconds(accepted)} | ${seconds(delivered)} |`,
  );
  return [
    '| fault | cluster took writes again after, s | next 202 after that, s | next delivery after that, s |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}
