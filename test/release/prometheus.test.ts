import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { INSTALL_TIMEOUT } from '../support/installed-program.ts';
import { findPromtool, promtool } from '../support/promtool.ts';

const FOLDER = join(import.meta.dirname, '../../ops/prometheus');
const ALERTS = join(FOLDER, 'alerts.yml');

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
}

const alerts: Alert[] = parse(readFileSync(ALERTS, 'utf8')).groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
);

describe('promtool', () => {
  let isThere = false;
  beforeAll(async () => {
    isThere = await findPromtool();
  }, INSTALL_TIMEOUT);

  it('accepts the alerts', ({ skip }) => {
    if (!isThere) skip();
    expect(promtool(['check', 'rules', ALERTS])).toMatchObject({ code: 0 });
  });

  it('sees each alert fire when it should, and not otherwise', ({ skip }) => {
    if (!isThere) skip();
    expect(promtool(['test', 'rules', join(FOLDER, 'alerts.test.yml')])).toMatchObject({ code: 0 });
  });

  it('accepts the configuration, with the alerts where the container mounts them', async ({ skip }) => {
    if (!isThere) skip();
    const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-prometheus-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const config = await readFile(join(FOLDER, 'prometheus.yml'), 'utf8');
    const path = join(directory, 'prometheus.yml');
    await writeFile(path, config.replaceAll('/etc/ledgerbell', FOLDER));
    expect(promtool(['check', 'config', path])).toMatchObject({
      code: 0,
      output: expect.stringContaining(`${alerts.length} rules found`),
    });
  });
});

describe('each alert', () => {
  const readPage = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const index = readPage('docs/runbook.md');

  it('has a section in the runbook, stands in its index, and links to the section', () => {
    const listed = [...index.matchAll(/^- \[(Ledgerbell\w+)\]\(([^)]+)\)$/gm)];
    const links = new Map(listed.map(([, name, link]) => [name, `docs/${link}`]));
    expect([...links.keys()].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(links.get(alert));
      const [page = '', anchor] = annotations.runbook_url.split('#');
      expect(anchor).toBe(alert.toLowerCase());
      expect(readPage(page).split('\n')).toContain(`## ${alert}`);
    }
  });

  it('says what is wrong, what that means, and whether it can wait', () => {
    for (const { labels, annotations } of alerts) {
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.description.length).toBeGreaterThan(annotations.summary.length);
      expect(['critical', 'warning']).toContain(labels.severity);
    }
  });

  it('is tested both for firing and for not firing', () => {
    const { tests } = parse(readFileSync(join(FOLDER, 'alerts.test.yml'), 'utf8'));
    const checks: { expr: string; exp_samples: unknown[] }[] = tests.flatMap(
      (it: { promql_expr_test?: unknown[] }) => it.promql_expr_test ?? [],
    );
    for (const { alert } of alerts) {
      const samples = checks
        .filter(({ expr }) => expr.includes(`"${alert}"`))
        .map((it) => it.exp_samples.length);
      expect([alert, samples.includes(0), samples.includes(1)]).toEqual([alert, true, true]);
    }
  });
});
