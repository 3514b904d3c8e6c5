import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTally } from '../../src/ledger/movement.ts';

const FIXTURE = fileURLToPath(new URL('tally.fixture.ts', import.meta.url));
const run = promisify(execFile);

const digest = (content: number | string) => createHash('sha256').update(String(content)).digest();

describe('the tally of contents', () => {
  it('counts each content like a Map of whole digests, in any order', () => {
    const contents = fc.array(fc.oneof(fc.nat(20), fc.nat(5_000)), { maxLength: 6_000, size: 'max' });
    fc.assert(
      fc.property(contents, (all) => {
        const countIn = createTally();
        const seen = new Map<number, number>();
        for (const content of all) {
          const expected = (seen.get(content) ?? 0) + 1;
          seen.set(content, expected);
          if (countIn(digest(content)) !== expected) return false;
        }
        return true;
      }),
      { numRuns: 20 },
    );
  });

  it('keeps digests apart that share a slot, whichever half of them differs', () => {
    const bits = (high: number, low: number) => {
      const it = Buffer.alloc(32);
      it.writeUInt32BE(high, 0);
      it.writeUInt32BE(low, 4);
      return it;
    };
    const countIn = createTally();
    const all = [bits(1, 7), bits(2, 7), bits(1, 7 + 2 ** 31), bits(0, 0), bits(2 ** 32 - 1, 2 ** 32 - 1)];
    expect(all.map(countIn)).toEqual([1, 1, 1, 1, 1]);
    expect(all.map(countIn)).toEqual([2, 2, 2, 2, 2]);
  });

  it('stores 300,000 contents outside the heap, which a Map of their digests would fill', async () => {
    const { stdout } = await run(process.execPath, ['--max-old-space-size=32', '--import', 'tsx', FIXTURE]);
    expect(JSON.parse(stdout)).toEqual({ first: [1], second: [2] });
  });
});
