import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { findProgram, INSTALL_TIMEOUT, runProgram } from '../support/installed-program.ts';

const FOLDER = join(import.meta.dirname, '../../ops/systemd');
const SERVICE = join(FOLDER, 'ledgerbell@.service');

const analyze = (...args: string[]) => runProgram('systemd-analyze', args);

describe('systemd-analyze', () => {
  let isThere = false;
  beforeAll(async () => {
    isThere = await findProgram('systemd-analyze', 'systemd', 'The units of systemd are not checked');
  }, INSTALL_TIMEOUT);

  it('accepts the units', ({ skip }) => {
    if (!isThere) skip();
    const units = [SERVICE, join(FOLDER, 'ledgerbell.target')];
    expect(analyze('verify', '--man=no', ...units)).toEqual({ code: 0, output: '' });
  });

  it('gives the service an exposure below 2.0', ({ skip }) => {
    if (!isThere) skip();
    // It takes the limit in tenths, and its exit code says whether the limit is kept.
    const { code, output } = analyze('security', '--offline=true', '--threshold=19', SERVICE);
    expect(output).toContain('Overall exposure level');
    expect(code).toBe(0);
  });
});
