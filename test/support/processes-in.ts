import { readdir, readFile, readlink } from 'node:fs/promises';

/** Programs that run with their working directory there: servers, and what makes their data directories. */
export async function processesIn(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (`${cwd}/`.startsWith(`${directory}/`)) {
      found.push(`${pid} ${await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')}`);
    }
  }
  return found;
}
