import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Entry } from '../../../packages/statements/src/statement.ts';
import { entries, ofType, parse, readFiles } from './events.ts';

const samples = [...readFiles(new URL('../../samples/camt/', import.meta.url)).values()];
const damaged = fc
  .constantFrom(...samples)
  .chain((file) => fc.record({ file: fc.constant(file), at: fc.nat(file.length - 1) }));

it('a CAMT file with one changed markup character has the same total or an issue', async () => {
  const character = fc.constantFrom(...'<>/="\'&;x0 !?-\u0000\uD800');
  await fc.assert(
    fc.asyncProperty(damaged, character, async ({ file, at }, other) => {
      const start = file.lastIndexOf('<', at);
      const isMarkup = start >= 0 && at <= file.indexOf('>', start) && !file.startsWith('<!--', start);
      fc.pre(isMarkup);
      const events = await parse(file.slice(0, at) + other + file.slice(at + 1));
      if (ofType(events, 'issue').length > 0) return;
      // Without a currency, a batch is not divided, but its amount is the same.
      const total = (of: readonly Entry[]) =>
        of.reduce((sum, { dc, amount }) => (dc === 'Credit' ? sum + amount : sum - amount), 0n);
      expect(total(entries(events))).toBe(total(entries(await parse(file))));
    }),
    { numRuns: 1_000 },
  );
});
