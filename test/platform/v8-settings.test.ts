import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { COMPILATION_SETTINGS, GARBAGE_COLLECTION_SETTINGS } from '../../src/supervisor/v8-settings.ts';

const run = promisify(execFile);

/** At run time V8 ignores a setting that it does not know. On the command line, Node ends with an error. */
test.each([...GARBAGE_COLLECTION_SETTINGS, ...COMPILATION_SETTINGS])(
  'this Node knows the V8 setting %s',
  async (setting) => {
    await expect(run(process.execPath, [setting, '--eval', '0'])).resolves.toMatchObject({ stderr: '' });
  },
);
