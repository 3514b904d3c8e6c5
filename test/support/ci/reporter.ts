import { JsonReporter, type SerializedError, type TestModule } from 'vitest/node';

/**
 * The JSON report of vitest, and what it leaves out: the projects that each file was run in, and the errors that no test had. Written to
 * `--outputFile.json`.
 */
export default class Report extends JsonReporter {
  private more: { projects: Record<string, string[]>; unhandledErrors: string[] } | null = null;

  constructor() {
    super({});
  }

  override async onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[] = [],
  ): Promise<void> {
    const projects: Record<string, string[]> = {};
    for (const { moduleId, project } of modules)
      projects[moduleId] = [...(projects[moduleId] ?? []), project.name];
    const unhandledErrors = errors.map((error) => error.stack ?? error.message);
    this.more = { projects, unhandledErrors };
    await super.onTestRunEnd([...modules]);
  }

  override async writeReport(report: string): Promise<void> {
    await super.writeReport(JSON.stringify({ ...JSON.parse(report), ...this.more }));
  }
}
