import { randomBytes } from 'node:crypto';
import { createTally } from '../../src/ledger/movement.ts';

/** Run as a separate process with a small heap. Counts 300,000 contents twice, and prints the counts. */
const CONTENTS = 300_000;
const DIGEST = 32;

const digests = randomBytes(CONTENTS * DIGEST);
const countIn = createTally();
const countAll = () => {
  const counts = new Set<number>();
  for (let at = 0; at < digests.length; at += DIGEST) {
    counts.add(countIn(digests.subarray(at, at + DIGEST)));
  }
  return [...counts];
};
process.stdout.write(JSON.stringify({ first: countAll(), second: countAll() }));
