import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import pRetry, { AbortError } from 'p-retry';
import { isCode, readIfThere } from '../private-file.ts';
import { lastLines, runCommand } from './command.ts';

/** Debian's and Ubuntu's packages of the two servers. */
export const PACKAGES = { mysql: 'mariadb-server', redis: 'redis-server' } as const;

/** How long to wait for another apt or dpkg, such as that of a second start at the same time. */
const LOCK_SECONDS = 300;

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const POLICY_MARK = '# Made by Ledgerbell';

/** The two apt-get commands, program first. They run in English, because a held lock is recognised by its message text. */
export function aptCommands(packages: readonly string[]): string[][] {
  const apt = [
    'env',
    'LC_ALL=C',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-o',
    `DPkg::Lock::Timeout=${LOCK_SECONDS}`,
  ];
  return [
    [...apt, 'update'],
    [...apt, 'install', '-y', '--no-install-recommends', ...packages],
  ];
}

/**
 * Installs Debian packages without questions and without starting their services. Needs root. Waits up to five minutes for
 * another apt.
 * @throws {Error} with the last lines of apt-get's output.
 */
export async function installPackages(packages: readonly string[]): Promise<void> {
  const allowServices = forbidServices();
  try {
    for (const command of aptCommands(packages)) {
      await runApt(command);
    }
  } finally {
    allowServices();
  }
}

/** Retries while a lock is held: `DPkg::Lock::Timeout` covers dpkg's lock, but not the one of the package lists. */
function runApt([program = '', ...args]: readonly string[]): Promise<void> {
  return pRetry(
    async () => {
      const { ok, output } = await runCommand(program, args);
      if (!ok) {
        const error = new Error(`apt-get failed. Its last lines:\n${lastLines(output)}`);
        throw /could not get lock|unable to lock/i.test(output) ? error : new AbortError(error);
      }
    },
    { retries: LOCK_SECONDS, factor: 1, minTimeout: 1_000, maxRetryTime: LOCK_SECONDS * 1_000 },
  );
}

/**
 * Debian's packages start their service immediately, unless policy-rc.d forbids it (invoke-rc.d(8): 101 is "forbidden").
 * An administrator's own policy is kept. Ours has no effect once this process has ended, even if it was killed.
 * @returns a function that removes our policy.
 */
function forbidServices(): () => void {
  const content = `#!/bin/sh\n${POLICY_MARK}, for as long as its process runs.\n[ -d /proc/${process.pid} ] && exit 101\nexit 0\n`;
  if (readIfThere(POLICY_FILE)?.includes(POLICY_MARK)) {
    rmSync(POLICY_FILE, { force: true });
  }
  try {
    writeFileSync(POLICY_FILE, content, { flag: 'wx', mode: 0o755 });
    // The mode above is subject to the umask.
    chmodSync(POLICY_FILE, 0o755);
  } catch (error) {
    if (isCode(error, 'EEXIST')) {
      return () => {};
    }
    throw error;
  }
  return () => {
    if (readIfThere(POLICY_FILE) === content) {
      rmSync(POLICY_FILE, { force: true });
    }
  };
}
