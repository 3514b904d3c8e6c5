import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../src/servers/embedded/command.ts';

/** Addresses in apt's source lists: `URIs:` of the deb822 format, and the lines of the older one. Comments are skipped. */
export function parseSources(text: string): string[] {
  const lines = text.split('\n').filter((line) => !line.trimStart().startsWith('#'));
  const addresses: string[] = [];
  let inAddresses = false;
  for (const line of lines) {
    const field = /^([A-Za-z-]+):(.*)$/.exec(line);
    const oneLine = /^\s*deb\s+(?:\[[^\]]*\]\s*)?(\S+)/.exec(line);
    // A field of deb822 continues in the lines that begin with a space.
    inAddresses = field === null ? inAddresses && /^\s+\S/.test(line) : field[1]?.toLowerCase() === 'uris';
    if (inAddresses) addresses.push(...(field?.[2] ?? line).trim().split(/\s+/));
    else if (oneLine?.[1] !== undefined) addresses.push(oneLine[1]);
  }
  const usable = addresses.filter((address) => /^https?:\/\//.test(address));
  return [...new Set(usable.map((address) => address.replace(/\/+$/, '')))];
}

/** Whether this is the `InRelease` of a suite of Debian itself. Third parties name another origin. */
export function isDebianRelease(text: string, suite: string): boolean {
  const names = [...text.matchAll(/^(?:Suite|Codename):\s*(.+)$/gm)].map(([, name]) => name?.trim());
  return /^Origin:\s*Debian$/m.test(text) && names.includes(suite);
}

const SOURCES = '/etc/apt';

function readSources(): string {
  const more = join(SOURCES, 'sources.list.d');
  const named = existsSync(more) ? readdirSync(more).filter((name) => /\.(list|sources)$/.test(name)) : [];
  const files = [join(SOURCES, 'sources.list'), ...named.sort().map((name) => join(more, name))];
  return files
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n\n');
}

/**
 * The first mirror among this machine's apt sources that has this suite of Debian.
 * @param env The environment of wget, for a proxy.
 * @throws {Error} with one line when there is none.
 */
export async function findMirror(suite: string, env: Record<string, string>): Promise<string> {
  const mirrors = parseSources(readSources());
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  for (const mirror of mirrors) {
    const release = `${mirror}/dists/${suite}/InRelease`;
    const { ok, stdout } = await runCommand(
      'env',
      [...settings, 'wget', '-q', '-T', '20', '-t', '2', '-O', '-', release],
      { timeout: 60_000 },
    );
    if (ok && isDebianRelease(stdout, suite)) return mirror;
  }
  throw new Error(`None of this machine's apt sources is a Debian mirror that has ${suite}.`);
}
