import { describe, expect, it } from 'vitest';
import { renderProgress } from '../../src/cli/import-progress.ts';

const MIB = 1024 * 1024;

describe('the progress bar of an import', () => {
  it.each<[string, Parameters<typeof renderProgress>, string]>([
    [
      'shows bytes, their rate and the time left',
      ['Sending', 'bytes', { value: 16 * MIB, total: 32 * MIB, elapsed: 2_000 }],
      'Sending  ████████████░░░░░░░░░░░░  50%  16.0 of 32.0 MiB  8.0 MiB/s  2 s left',
    ],
    [
      'shows rows, their rate and the time left',
      ['Storing', 'rows', { value: 12_000, total: 1_200_000, elapsed: 1_000 }],
      'Storing  ░░░░░░░░░░░░░░░░░░░░░░░░   1%  12,000 of 1,200,000 rows  12,000 rows/s  1 min 39 s left',
    ],
    [
      'shows no share, and the time that has passed, if the total is not known',
      ['Storing', 'rows', { value: 500, total: undefined, elapsed: 1_000 }],
      'Storing  500 rows  500 rows/s  1 s',
    ],
    [
      'shows no rate at the beginning',
      ['Sending', 'bytes', { value: 100, total: 2_048, elapsed: 100 }],
      'Sending  █░░░░░░░░░░░░░░░░░░░░░░░   4%  0.1 of 2.0 KiB',
    ],
    [
      'ends full',
      ['Sending', 'bytes', { value: 900, total: 900, elapsed: 3_000 }],
      'Sending  ████████████████████████ 100%  900 of 900 bytes  300 bytes/s',
    ],
    [
      'counts hours',
      ['Sending', 'bytes', { value: MIB, total: 8 * 1024 * MIB, elapsed: 1_000 }],
      'Sending  ░░░░░░░░░░░░░░░░░░░░░░░░   0%  0.0 of 8.0 GiB  1.0 MiB/s  2 h 16 min left',
    ],
  ])('%s', (_, amounts, line) => expect(renderProgress(...amounts)).toBe(line));
});
