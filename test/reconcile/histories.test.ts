import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findKnown } from '../../packages/reconcile/src/known.ts';
import { histories, NAMES, VARIANTS } from './histories.ts';
import { findUnstable, judge } from './judge.ts';

/** `HISTORIES=10000 npx vitest run test/reconcile/histories.test.ts` tries more. `rates.ts` prints the rates of each variant. */
const HISTORIES = Number(process.env.HISTORIES ?? 60);
const SEED = Number(process.env.SEED ?? 20_261_126);

/** Of the days and amounts. What remains is ambiguous: another history sends the same bytes; see docs/trust.md. */
const MOST_SILENT = 0.003;

test.each(NAMES.filter((name) => name !== 'moved days'))(
  'in histories of a bank (%s), hardly a movement is silently lost or stored twice',
  (name) => {
    const total = { exact: 0, listed: 0, silent: 0, assumed: 0 };
    for (const history of fc.sample(histories(name, 12), { numRuns: HISTORIES, seed: SEED })) {
      const found = judge(history, findKnown);
      for (const key of ['exact', 'listed', 'silent', 'assumed'] as const) total[key] += found[key];
    }
    const groups = total.exact + total.listed + total.silent;
    expect(groups).toBeGreaterThan(HISTORIES);
    expect(total.silent / groups).toBeLessThan(MOST_SILENT);
    // Most must be certain, or the histories would prove nothing. What only some banks do often has no proof.
    expect(total.assumed / groups).toBeLessThan(name in VARIANTS ? 0.2 : 0.9);
  },
  HISTORIES * 1_000,
);

test.each(NAMES)(
  'in histories of a bank (%s), a file that is sent again stores nothing',
  (name) => {
    const all = fc.sample(histories(name, 12), { numRuns: HISTORIES, seed: SEED });
    const unstable = all.filter((history) => findUnstable(history, findKnown) !== null);
    // Where several batches of a day have equal amounts and no ids, a file may list them in a way that is not recognised a second time.
    // So may, once in a thousand histories, a file of a bank that changes its references each time it lists a booking.
    const known: Partial<Record<string, number>> = { batches: 1 / 100, 'reissued references': 1 / 1_000 };
    expect(unstable.length).toBeLessThanOrEqual(HISTORIES * (known[name] ?? 0));
  },
  HISTORIES * 1_000,
);
