import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { buildGuides, compile, once } from './test/support/compiled.ts';
import { importsOf } from './test/support/imports-of.ts';

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
  const imported = importsOf(path).filter((other) => other.startsWith(join(ROOT, 'test')));
  const needs = NEEDS_SERVERS.test(readFileSync(path, 'utf8')) || imported.some(needsServers);
  known.set(path, needs);
  return needs;
}

const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name));

const isIn = (paths: readonly string[]) => (test: string) => paths.some((path) => test.startsWith(path));

/** What is built from the product, and the programs of other languages that use it (`npm run test:release`). */
const isOfRelease = isIn(['test/release/', 'test/docs/receivers/', 'test/sdk/generat', 'test/sdk/package.']);

/** Clusters, whole runs of faults, and readers that are killed (`npm run test:faults`). Clusters expel a member that gets no processor time for seconds. */
const isOfFaults = isIn([
  'test/delivery/killed.',
  'test/database-cluster.',
  'test/durability/cluster.',
  'test/durability/short.',
  'test/platform/queues/cluster.',
  'test/platform/queues/sentinel.',
]);

/** The model of the delivery engine and generated files and histories of banks, which `npm run test:faults` runs at their full size. */
const isModel = isIn([
  'test/delivery/model/',
  'test/reconcile/histories.',
  'test/statements/formats.',
  'test/intake/bank-histories.',
]);
const isFullSize = process.env.MODEL === 'full';

/** `npm run test:unit`: only what needs no server. */
const isUnit = process.env.UNIT === 'true';

/** A sequencer of ours would ignore the option. */
const isShuffled = process.argv.some((argument) => argument.startsWith('--sequence.shuffle'));

/** A run of all projects has the models once, at their full size, which includes what `npm test` tries. */
const ofProduct = tests.filter(
  (test) => !isOfRelease(test) && !isOfFaults(test) && !(isFullSize && isModel(test)),
);

/** These take long, mostly because they wait, the longest first. */
const LONG = [
  'one-movement',
  'process.start',
  'process.test',
  'sources/folder-collecting',
  'supervisor/supervisor.gives-up',
  'console/server-problems.disk',
  'browser/console.',
  'sources/killed-process',
  'supervisor/reload',
  'intake/public-samples',
  'console/server-problems.waits',
  'delivery/result-writer',
  'cli/demo/',
  'supervisor/supervisor.test',
  'browser/pages',
  'servers/embedded/servers.test',
  'intake/dead-uploads',
  'sources/schedulers',
  'verdict/answers',
  'cli/embedded',
  'upkeep/reconcile',
  'delivery/silent-dns',
  'delivery/events/event-processes',
  'delivery/unrecorded',
  'browser/console-buttons',
  'process.frozen',
];

/** These compute or compile for minutes, which no other file leaves room for: they begin first. By their size, they would be last. */
const FIRST = ['delivery/model/', 'reconcile/histories', 'docs/receivers/spring-boot', 'release/chart'];

/** One long file after every eight others: what waits leaves the processors to the others, and no long file is left for the end. */
class LongSpread extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const take = (names: readonly string[]) => {
      const rank = ({ moduleId }: TestSpecification) =>
        names.findIndex((name) => moduleId.includes(`/test/${name}`));
      return sorted.filter((file) => rank(file) >= 0).toSorted((a, b) => rank(a) - rank(b));
    };
    const first = take(FIRST);
    const long = take(LONG);
    const others = sorted.filter((file) => !first.includes(file) && !long.includes(file));
    const spread = others.flatMap((file, at) => [...(at % 8 === 0 ? long.splice(0, 1) : []), file]);
    return [...first, ...spread, ...long];
  }
}

/** Threads start what is compiled, as processes do. Else each would translate its sources, for as long as a test takes. */
const compiledThreads: Plugin = {
  name: 'compiled threads',
  transform(code, id) {
    if (!id.startsWith(join(ROOT, 'src'))) return null;
    const folder = join(ROOT, 'dist', relative(ROOT, dirname(id)));
    return code.replaceAll(
      /new URL\(['"](\.\/[\w-]+-thread)['"], import\.meta\.url\)/g,
      (_, thread: string) => `new URL('${pathToFileURL(join(folder, thread))}')`,
    );
  },
};

await once('ledgerbell.built', async () => {
  await compile({ announce: (line) => console.error(line) });
  await buildGuides();
});

export default defineConfig({
  plugins: [compiledThreads],
  test: {
    // A hung test fails after three minutes. No test is a claim about speed.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    ...(isShuffled ? {} : { sequence: { sequencer: LongSpread } }),
    // Each worker loads a module once, for all its files.
    isolate: false,
    // Tests mostly wait for servers, for processes and for time to pass.
    maxWorkers: 5,
    projects: [
      {
        extends: true,
        test: isUnit
          ? { name: 'product', include: ofProduct.filter((path) => !needsServers(join(ROOT, path))) }
          : { name: 'product', include: ofProduct, globalSetup: ['test/servers.setup.ts'] },
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
          name: 'models',
          include: isFullSize ? tests.filter(isModel) : [],
          globalSetup: ['test/servers.setup.ts'],
          sequence: { groupOrder: 1 },
          env: {
            MODEL_SCHEDULES: '100000',
            HISTORIES: process.env.HISTORIES ?? '1000',
            BANK_HISTORIES: '50',
            TIMES: '6',
          },
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          include: tests.filter(isOfFaults),
          globalSetup: ['test/servers.setup.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
