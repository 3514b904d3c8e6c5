import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = import.meta.dirname;

/** What a file says that starts a server, a process or a browser, or connects to one. */
const NEEDS_SERVERS =
  /\binject\(|\bstartEmbedded\b|\brunServer\b|'(?:node:(?:child_process|http|https|net|tls|dgram)|playwright-core|undici|ssh2)'/;

const known = new Map<string, boolean>();

/** Whether a test needs more than this process: it says so itself, or a file of test/ that it imports does. */
function needsServers(path: string): boolean {
  const answer = known.get(path);
  if (answer !== undefined) return answer;
  known.set(path, false);
  const text = readFileSync(path, 'utf8');
  const imported = [...text.matchAll(/from '(\.[^']+)'/g)]
    .map(([, specifier = '']) => join(dirname(path), specifier))
    .filter((other) => other.startsWith(join(ROOT, 'test')));
  const needs = NEEDS_SERVERS.test(text) || imported.some(needsServers);
  known.set(path, needs);
  return needs;
}

const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name));

/** They take half a minute or more, mostly waiting. Begun last, one of them would keep the whole run waiting. */
const LONG = [
  'durability/short',
  'durability/cluster',
  'database-cluster',
  'release/package',
  'demo/trouble',
  'browser/console',
  'process.test',
  'cli/administration',
  'sources/killed-process',
  'sources/schedulers',
  'process.start',
  'docs/receivers',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex((name) => moduleId.includes(`/test/${name}`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    // A hung test fails after three minutes. No test is a claim about speed.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    sequence: { sequencer: LongestFirst },
    // Each worker loads a module once, for all its files.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: tests.filter((path) => !needsServers(join(ROOT, path))),
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: tests.filter((path) => needsServers(join(ROOT, path))),
          globalSetup: ['test/servers.setup.ts'],
        },
      },
    ],
    // Tests mostly wait for servers, for processes and for time to pass.
    maxWorkers: 3,
  },
});
