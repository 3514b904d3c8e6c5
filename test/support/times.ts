import type { ReportedHookContext, Reporter, TestCase, TestModule } from 'vitest/node';

/** Milliseconds of a file. */
interface FileTimes {
  name: string;
  /** Reading the file and what it imports. */
  load: number;
  /** beforeAll and beforeEach. */
  setUp: number;
  tests: number;
  /** afterEach and afterAll. */
  tearDown: number;
  total: number;
}

type Phase = Exclude<keyof FileTimes, 'name'>;

const PHASES: readonly Phase[] = ['load', 'setUp', 'tests', 'tearDown', 'total'];

/**
 * Where the time of a run goes, by file and phase, in seconds; the slowest file first, and a line for each folder. Files run beside each
 * other, so the sums are more than what the run takes. TIMES_FILES is the number of files to print, 40 by default.
 *
 *     npx vitest run --reporter=default --reporter=./test/support/times.ts
 */
export default class Times implements Reporter {
  private readonly hooks = new Map<string, number>();
  private readonly started = new Map<string, number>();
  private readonly tests = new Map<string, number>();

  onHookStart(hook: ReportedHookContext): void {
    this.started.set(keyOf(hook), performance.now());
  }

  onHookEnd(hook: ReportedHookContext): void {
    const started = this.started.get(keyOf(hook));
    if (started === undefined) return;
    const path = moduleOf(hook).moduleId;
    const phase = hook.name.startsWith('before') ? 'setUp' : 'tearDown';
    add(this.hooks, `${phase} ${path}`, performance.now() - started);
  }

  onTestCaseResult(test: TestCase): void {
    add(this.tests, test.module.moduleId, test.diagnostic()?.duration ?? 0);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => this.timesOf(module)).toSorted((a, b) => b.total - a.total);
    const folders = new Map<string, FileTimes[]>();
    for (const file of files) {
      const folder = file.name.split('/').slice(0, 2).join('/');
      folders.set(folder, [...(folders.get(folder) ?? []), file]);
    }
    print('file', files.slice(0, Number(process.env.TIMES_FILES ?? 40)));
    print(
      'folder',
      [...folders].map(([name, inIt]) => sum(name, inIt)).toSorted((a, b) => b.total - a.total),
    );
    print('all', [sum(`${files.length} files`, files)]);
  }

  private timesOf(module: TestModule): FileTimes {
    const { collectDuration: load, duration } = module.diagnostic();
    const setUp = this.hooks.get(`setUp ${module.moduleId}`) ?? 0;
    const tearDown = this.hooks.get(`tearDown ${module.moduleId}`) ?? 0;
    const tests = this.tests.get(module.moduleId) ?? 0;
    return { name: module.relativeModuleId, load, setUp, tests, tearDown, total: load + duration };
  }
}

function moduleOf({ entity }: ReportedHookContext): TestModule {
  return entity.type === 'module' ? entity : entity.module;
}

function keyOf(hook: ReportedHookContext): string {
  return `${hook.name} ${hook.entity.id}`;
}

function add(times: Map<string, number>, key: string, duration: number): void {
  times.set(key, (times.get(key) ?? 0) + duration);
}

function sum(name: string, files: readonly FileTimes[]): FileTimes {
  const all: FileTimes = { name, load: 0, setUp: 0, tests: 0, tearDown: 0, total: 0 };
  for (const file of files) for (const phase of PHASES) all[phase] += file[phase];
  return all;
}

function print(title: string, rows: readonly FileTimes[]): void {
  const width = Math.max(title.length, ...rows.map(({ name }) => name.length));
  const line = (first: string, cells: readonly string[]) =>
    console.log([first.padEnd(width), ...cells.map((cell) => cell.padStart(9))].join(''));
  console.log();
  line(
    title,
    ['load', 'set-up', 'tests', 'tear-down', 'total'].map((cell) => ` ${cell}`),
  );
  for (const row of rows)
    line(
      row.name,
      PHASES.map((phase) => (row[phase] / 1000).toFixed(1)),
    );
}
