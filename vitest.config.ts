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

const isIn = (paths: readonly string[]) => (test: string) => paths.some((path) => test.startsWith(path));

/** What is built from the product, and the programs of other languages that use it (`npm run test:release`). */
const isOfRelease = isIn(['test/release/', 'test/docs/receivers/', 'test/sdk/generat', 'test/sdk/package.']);

/** Clusters, and whole runs of faults (`npm run test:faults`). Clusters expel a member that gets no processor time for seconds. */
const isOfFaults = isIn([
  'test/database-cluster.',
  'test/durability/cluster.',
  'test/durability/short.',
  'test/platform/queues/cluster.',
  'test/platform/queues/sentinel.',
]);

/** The model of the delivery engine and generated files and histories of banks, which `npm run test:faults` runs at their full size. */
const isModel = isIn([
  'test/deliveries/model/',
  'test/reconcile/histories.',
  'test/statements/formats.',
  'test/imports/bank-histories.',
]);
const isFullSize = process.env.MODEL === 'full';

const ofProduct = tests.filter((test) => !isOfRelease(test) && !isOfFaults(test));

/** Begun last, one of these would keep the whole run waiting. */
const LONG = [
  'supervisor/supervisor.ends',
  'demo/trouble',
  'console/server-problems',
  'browser/console.',
  'imports/public-samples',
  'sources/killed-process',
  'process.start',
  'supervisor/',
  'sources/schedulers',
  'process.test',
  'browser/',
];

/** A worker keeps what it has loaded as long as the next file is of the same project. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) => {
      const at = LONG.findIndex((name) => moduleId.includes(`/test/${name}`));
      return (project.name === 'unit' ? 2 : 1) * LONG.length + (at === -1 ? LONG.length : at);
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
    // Tests mostly wait for servers, for processes and for time to pass.
    maxWorkers: 5,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ofProduct.filter((path) => !needsServers(join(ROOT, path))) },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ofProduct.filter((path) => needsServers(join(ROOT, path))),
          globalSetup: ['test/servers.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'release',
          include: tests.filter(isOfRelease),
          globalSetup: ['test/servers.setup.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          include: tests.filter((test) => isOfFaults(test) || (isFullSize && isModel(test))),
          globalSetup: ['test/servers.setup.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          env: isFullSize
            ? { MODEL_SCHEDULES: '100000', HISTORIES: '3000', BANK_HISTORIES: '50', TIMES: '5' }
            : {},
        },
      },
    ],
  },
});
