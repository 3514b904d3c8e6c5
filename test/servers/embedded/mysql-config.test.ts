import { expect, test } from 'vitest';
import { bufferPoolFor } from '../../../src/servers/embedded/mysql.ts';

test.each([
  ['a small machine', 256, 128],
  ['2 GB', 2_048, 512],
  ['24 GB', 24_000.5, 6_000],
  ['a large machine', 256_000, 8_192],
])('the buffer pool has the right size on %s', (_, memory, megabytes) => {
  expect(bufferPoolFor(memory)).toBe(megabytes);
});
