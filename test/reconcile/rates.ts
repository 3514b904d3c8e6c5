import fc from 'fast-check';
import { findKnown } from '../../packages/reconcile/src/known.ts';
import { histories, NAMES } from './histories.ts';
import { judge } from './judge.ts';

/** `node --import tsx test/reconcile/rates.ts [HISTORIES] [SEED] [DAYS]`: how often each variant goes wrong, and nothing says so. */

const [count = 1_000, seed = 1, days = 12] = process.argv.slice(2).map(Number);

const rows: string[] = [];
for (const name of NAMES) {
  const total = { exact: 0, listed: 0, silent: 0, assumed: 0, histories: 0 };
  for (const history of fc.sample(histories(name, days), { numRuns: count, seed })) {
    const found = judge(history, findKnown);
    for (const key of ['exact', 'listed', 'silent', 'assumed'] as const) total[key] += found[key];
    if (found.silent > 0) total.histories += 1;
  }
  const groups = total.exact + total.listed + total.silent;
  const percent = (part: number) => `${((100 * part) / groups).toFixed(2)} %`;
  rows.push(
    `| ${name} | ${total.histories} of ${count} | ${percent(total.silent)} | ${percent(total.listed)} | ${percent(total.assumed)} |`,
  );
  console.error(rows.at(-1));
}
console.log(
  [
    '| variant | histories silently wrong | groups silent | listed | assumed |',
    '|---|---:|---:|---:|---:|',
    ...rows,
  ].join('\n'),
);
