import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderTable } from '../src/cli/output.ts';

/** A CPU profile as Node writes it with --cpu-prof; times are in microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  timeDeltas: number[];
}

export interface Summary {
  /** Seconds in which the process was not idle. */
  busy: number;
  /** Its work in these seconds, as fractions of 1, the largest first. */
  parts: { name: string; share: number }[];
}

/** Adds up the time of a profile by package, by folder of the source, and by native function. */
export function summariseProfile({ nodes, samples, timeDeltas }: CpuProfile): Summary {
  const nameOf = new Map(nodes.map(({ id, callFrame }) => [id, nameFrame(callFrame)]));
  const times = new Map<string, number>();
  for (const [i, sample] of samples.entries()) {
    const name = nameOf.get(sample);
    if (name !== undefined) times.set(name, (times.get(name) ?? 0) + (timeDeltas[i] ?? 0));
  }
  times.delete(IDLE);
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0);
  return {
    busy: busy / 1e6,
    parts: [...times].map(([name, time]) => ({ name, share: time / busy })).sort((a, b) => b.share - a.share),
  };
}

const IDLE = '(idle)';

function nameFrame({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string {
  const [, dependency] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
  if (dependency !== undefined) return dependency;
  const [, folder] = /\/dist\/(.+)\/[^/]+$/.exec(url) ?? [];
  if (folder !== undefined) return folder;
  if (url.startsWith('node:')) return 'Node';
  return functionName === '' ? 'other' : functionName;
}

/** Renders what took the time in each profile of a directory. Shares below 2 % are left out. */
export async function renderProfiles(directory: string): Promise<string[]> {
  const rows: string[][] = [];
  for (const file of (await readdir(directory)).sort()) {
    if (!file.endsWith('.cpuprofile')) continue;
    const { busy, parts } = summariseProfile(JSON.parse(await readFile(join(directory, file), 'utf8')));
    const shown = parts.filter(({ share }) => share >= 0.02);
    rows.push([
      file.replace('.cpuprofile', ''),
      busy.toFixed(1),
      shown.map(({ name, share }) => `${name} ${Math.round(share * 100)} %`).join(', '),
    ]);
  }
  return renderTable([['process', 'busy, s', 'of that'], ...rows], { right: [1] });
}
