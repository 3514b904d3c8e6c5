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

/** Clusters expel a member that gets no processor time for seconds. These run after all others, one after the other. */
const CLUSTERS = ['test/database-cluster.test.ts', 'test/durability/cluster.test.ts'];

/** They take half a minute or more, mostly waiting. Begun last, one of them would keep the whole run waiting. */
const LONG = [
  'durability/short',
  'platform/queues/cluster',
  'release/image',
  'release/package',
  'release/chart', // The first time: it compiles Helm.
  'demo/trouble',
  'console/server-problems',
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
          include: tests.filter((path) => !needsServers(join(ROOT, path)) && !CLUSTERS.includes(path)),
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: tests.filter((path) => needsServers(join(ROOT, path)) && !CLUSTERS.includes(path)),
          globalSetup: ['test/servers.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clusters',
          include: CLUSTERS,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // Tests mostly wait for servers, for processes and for time to pass.
    maxWorkers: 3,
  },
});
