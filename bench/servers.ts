import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../src/servers/embedded.ts';
import type { ServerUrls } from '../src/servers/running-servers.ts';

export interface Servers extends ServerUrls {
  /** The process id of a server; null unless it is a process of this machine. */
  pidOf(name: 'mysql' | 'redis'): Promise<number | null>;
  end(): Promise<void>;
}

/** Starts embedded servers in a fresh directory. Neither `end` nor a run that fails leaves anything behind. */
export async function startServers(wanted: { mysql: boolean; redis: boolean }): Promise<Servers> {
  const dataDir = await mkdtemp(join(tmpdir(), 'ledgerbell-bench-'));
  const kill = () => killServers(dataDir);
  process.once('exit', kill);
  const announce = (line: string) => console.error(line);
  const { stop, ...urls } = await startEmbedded({ dataDir, ...wanted, install: 'auto', announce });
  return {
    ...urls,
    pidOf: (name) =>
      readFile(join(dataDir, `${name}.json`), 'utf8').then(
        (record) => (JSON.parse(record) as { pid: number }).pid,
        () => null,
      ),
    async end() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
      process.off('exit', kill);
    },
  };
}

/** For a run that fails, whose servers nothing else would end. */
function killServers(dataDir: string): void {
  for (const name of ['redis', 'mysql']) {
    try {
      process.kill(JSON.parse(readFileSync(join(dataDir, `${name}.json`), 'utf8')).pid, 'SIGKILL');
    } catch {
      // It had not started, or has ended.
    }
  }
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
}
