import { describe, expect, it } from 'vitest';
import { read, readParts } from './read.ts';

describe('an MT940 entry', () => {
  it('with an endless line is read with its text cut, and has one warning', async () => {
    const parts = async function* () {
      yield ':20:X\n:25:1\n:60F:C261101EUR1,00\n:61:261101C1,00NTRF\n:86:';
      for (let part = 0; part < 100; part += 1) yield 'x'.repeat(100_000);
      yield '\n:62F:C261101EUR2,00\n-';
    };
    const { entries, warnings, ends } = await readParts(parts());
    expect(entries).toHaveLength(1);
    expect(entries[0]?.description).toHaveLength(60 * 1024);
    expect(warnings).toMatchObject([
      { line: 5, message: 'the entry is too long: some of its text was dropped' },
    ]);
    expect(ends).toMatchObject([{ line: 7, closing: { amount: 2000n } }]);
  });

  it('with endless lines or fields is read with its text cut, and has one warning', async () => {
    for (const line of ['xxxxxxxx\n', '\n', ':86:xxxxxxxx\n']) {
      const { entries, warnings } = await read(
        `:61:261101C1,00NTRF\n:86:\n${line.repeat(100_000)}:62F:C261101EUR2,00`,
      );
      expect(entries).toHaveLength(1);
      expect(entries[0]?.description?.length ?? 0).toBeLessThanOrEqual(60 * 1024);
      expect(warnings).toHaveLength(1);
    }
  });
});
