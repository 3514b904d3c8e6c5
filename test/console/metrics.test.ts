import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../src/platform/config.ts';
import { type Exposition, scrape } from '../support/exposition.ts';
import { INSTALL_TIMEOUT } from '../support/installed-program.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { findPromtool, promtool } from '../support/promtool.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const ROOT = join(import.meta.dirname, '../..');
const service = useOwnService({ because: 'metrics count what all customers have' });
const receiver = useReceiver();

const IBAN = 'TR330006100519786457841326';

/** It begins as a statement without entries, so it is accepted. The importer cannot read the rest. */
/** The second file is cut off. */
const HALF_READABLE = zipSync(
  {
    'a.sta': Buffer.from(
      `:20:1\r\n:25:${IBAN}\r\n:28C:1/1\r\n:60F:C260115TRY0,00\r\n:62F:C260115TRY0,00\r\n-\r\n`,
    ),
    'b.txt': Buffer.alloc(1_000),
  },
  { level: 0 },
).subarray(0, -1_000);

/** Before anything has happened, and after real traffic. */
let early: Exposition;
let late: Exposition;

/** The names of all samples: without labels, but with _bucket, _sum and _count. */
const sampleNames = () => new Set([...late.samples.keys()].map((sample) => sample.replace(/\{.*/, '')));

const sampleOf = (sample: string) => late.samples.get(sample);

beforeAll(async () => {
  early = await scrape(service);
  receiver.answer('/broken', (_, response) => response.writeHead(500).end());
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key, { iban: IBAN });
  await subscribe(service, key, `${receiver.url}/works`);
  await subscribe(service, key, `${receiver.url}/broken`);
  const movements = ['a', 'b', 'c'].map((unique_id) => movement(account.id, { unique_id }));
  await importMovements(service, key, movements);
  await importMovements(service, key, movements.slice(0, 1));
  await importMovements(service, key, [movement(account.id, { unique_id: 'a', amount: '777.00' })]);
  const lines = [movement(account.id, { unique_id: 'd' }), movement(account.id, { amount: 'much' })];
  const send = (body: string | Uint8Array, type: string) =>
    service.call('POST', '/v1/imports', { key, body, type });
  const ndjson = await send(lines.map((line) => JSON.stringify(line)).join('\n'), 'application/x-ndjson');
  await importDone(service, key, ndjson.body.import.id);
  expect((await send(HALF_READABLE, 'application/octet-stream')).status).toBe(202);
  // Its circuit opens at the first failure, because the webhook is new.
  await until('all is sent and recorded, and the state is read again', async () => {
    late = await scrape(service);
    return (
      // The job of the failing webhook waits for the next attempt, and is none of the delayed ones during it.
      sampleOf('ledgerbell_queue_jobs{queue="deliveries",state="delayed"}') === 1 &&
      sampleOf('ledgerbell_deliveries_total{outcome="delivered"}') === 4 &&
      sampleOf('ledgerbell_imports_total{format="auto",outcome="unreadable"}') === 1 &&
      sampleOf('ledgerbell_pending_deliveries{state="failing"}') === 4 &&
      sampleOf('ledgerbell_pending_deliveries{state="healthy"}') === 0 &&
      sampleOf('ledgerbell_unfinished_imports{status="failed"}') === 1 &&
      sampleOf('ledgerbell_troubles{kind="conflicts_open",scope="endpoint"}') === 1
    );
  });
});

describe('/metrics', () => {
  it('counts attempts and deliveries by outcome', () => {
    expect(sampleOf('ledgerbell_attempts_total{outcome="delivered"}')).toBe(4);
    expect(sampleOf('ledgerbell_attempts_total{outcome="failed"}')).toBeGreaterThan(0);
    expect(sampleOf('ledgerbell_deliveries_total{outcome="failed"}')).toBe(0);
    expect(sampleOf('ledgerbell_leases_lost_total')).toBe(0);
  });

  it('measures every attempt, and the time of each delivery from stored to delivered', () => {
    const attempts = ['delivered', 'failed'].map((it) =>
      sampleOf(`ledgerbell_attempts_total{outcome="${it}"}`),
    );
    expect(sampleOf('ledgerbell_attempt_duration_seconds_count')).toBe(
      (attempts[0] ?? 0) + (attempts[1] ?? 0),
    );
    expect(sampleOf('ledgerbell_delivery_latency_seconds_count')).toBe(4);
    // MySQL's clock and that of this process are one here.
    expect(sampleOf('ledgerbell_delivery_latency_seconds_sum')).toBeGreaterThan(0);
    expect(sampleOf('ledgerbell_delivery_latency_seconds_sum')).toBeLessThan(120);
  });

  it('counts imports by format and outcome, and their rows', () => {
    expect(sampleOf('ledgerbell_imports_total{format="json",outcome="done"}')).toBe(3);
    expect(sampleOf('ledgerbell_imports_total{format="ndjson",outcome="done"}')).toBe(1);
    expect(sampleOf('ledgerbell_import_rows_total{result="stored"}')).toBe(4);
    expect(sampleOf('ledgerbell_import_rows_total{result="duplicate"}')).toBe(1);
    expect(sampleOf('ledgerbell_import_rows_total{result="rejected"}')).toBe(1);
  });

  it('shows the state of the installation', () => {
    expect(sampleOf('ledgerbell_webhooks{status="active"}')).toBe(2);
    expect(sampleOf('ledgerbell_unfinished_imports{status="failed"}')).toBe(1);
    expect(sampleOf('ledgerbell_oldest_pending_seconds')).toBe(0);
    expect(sampleOf('ledgerbell_troubles{kind="conflicts_open",scope="endpoint"}')).toBe(1);
    expect(sampleOf('ledgerbell_troubles{kind="statements_late",scope="endpoint"}')).toBeUndefined();
    expect(sampleOf('ledgerbell_longest_failing_seconds')).toBeDefined();
    for (const role of ['api', 'importer', 'delivery', 'maintenance']) {
      expect([role, sampleOf(`ledgerbell_processes{role="${role}"}`)]).toEqual([role, 1]);
    }
    for (const queue of ['imports', 'deliveries', 'sources']) {
      expect([queue, sampleOf(`ledgerbell_queue_workers{queue="${queue}"}`)]).toEqual([queue, 1]);
    }
    expect(sampleOf('ledgerbell_queue_jobs{queue="deliveries",state="delayed"}')).toBe(1);
  });

  it('shows the state of the process', () => {
    expect(sampleOf(`ledgerbell_build_info{version="${VERSION}"}`)).toBe(1);
    for (const role of ['api', 'importer', 'delivery', 'maintenance'])
      expect(sampleOf(`ledgerbell_role_info{role="${role}"}`)).toBe(1);
    expect(sampleOf('ledgerbell_dependency_up{dependency="mysql"}')).toBe(1);
    expect(sampleOf('ledgerbell_dependency_up{dependency="redis"}')).toBe(1);
    expect(sampleOf('ledgerbell_mysql_pool_connections{state="idle"}')).toBeGreaterThan(0);
    expect(sampleOf('ledgerbell_mysql_pool_connections_max')).toBe(20);
    expect(sampleOf('ledgerbell_mysql_pool_waiters')).toBe(0);
    expect(sampleOf('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  });

  it('has no gauge with the name of a counter', () => {
    expect([...sampleNames()].filter((name) => /^nodejs_active_.*_total$/.test(name))).toEqual([]);
  });

  it('starts all counters at 0, so that the first increase is seen', () => {
    const counters = [...late.samples].filter(([sample]) => /^ledgerbell_\w+_total/.test(sample));
    // The API counts json, and has no list of formats.
    const absent = counters.filter(([sample]) => !early.samples.has(sample)).map(([sample]) => sample);
    expect(absent).toEqual([]);
    // Retention begins with the process, so its first pass may have ended before the first request.
    const waiting = counters.filter(([sample]) => !sample.startsWith('ledgerbell_retention_passes_total'));
    expect(waiting.every(([sample]) => early.samples.get(sample) === 0)).toBe(true);
  });

  it('has few labels, and none with an id or an address', () => {
    const ours = [...late.samples.keys()].filter((sample) => sample.startsWith('ledgerbell_'));
    const values = ours.flatMap((sample) => [...sample.matchAll(/(\w+)="([^"]*)"/g)]);
    // The hosts of DATABASE_URL are few, and the alert must name them.
    const open = values.filter(
      ([, name, value]) =>
        !['le', 'version', 'hosts'].includes(name ?? '') && !/^[a-z_\d]+$/.test(value ?? ''),
    );
    expect(open).toEqual([]);
    expect(ours.length).toBeLessThan(170);
  });

  it("follows Prometheus' naming: base units, and _total only for counters", () => {
    const ours = [...late.types].filter(([name]) => name.startsWith('ledgerbell_'));
    for (const [name, type] of ours) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|percent)(_|$)/);
    }
  });
});

describe('promtool', () => {
  it(
    'accepts the metrics of the service',
    async ({ skip }) => {
      if (!(await findPromtool())) skip();
      expect(promtool(['check', 'metrics'], late.text)).toEqual({ code: 0, output: '' });
    },
    INSTALL_TIMEOUT,
  );
});

describe('every metric', () => {
  /** Only a supervisor exports it: test/supervisor. */
  const OF_A_SUPERVISOR = 'ledgerbell_process_up';

  /** Names of metrics in a query. */
  const namesIn = (text: string) => text.match(/\b(?:ledgerbell|nodejs|process)_[a-z_]*[a-z]\b/g) ?? [];

  const dashboards = readdirSync(join(ROOT, 'ops/grafana')).filter((name) => name.endsWith('.json'));

  it.each(dashboards)('in the dashboard %s is exported, and each panel has a description', (name) => {
    const { panels } = JSON.parse(readFileSync(join(ROOT, 'ops/grafana', name), 'utf8')) as {
      panels: { type: string; title: string; description?: string; targets?: { expr: string }[] }[];
    };
    const shown = panels.filter(({ type }) => type !== 'row');
    const used = shown.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => namesIn(expr)));
    expect(used.length).toBeGreaterThan(shown.length / 2);
    expect(used.filter((metric) => !sampleNames().has(metric))).toEqual([]);
    expect(
      shown.filter(({ description = '' }) => !/\.$/.test(description)).map(({ title }) => title),
    ).toEqual([]);
  });

  it('in the alerts is exported', () => {
    const alerts = readFileSync(join(ROOT, 'ops/prometheus/alerts.yml'), 'utf8');
    const used = namesIn(alerts.replaceAll(/^\s*(#|runbook_url).*$/gm, ''));
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter((metric) => !sampleNames().has(metric))).toEqual([OF_A_SUPERVISOR]);
  });

  it('of the service is in docs/metrics.md with its type and labels, and that file has no other metric', () => {
    const rows = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8').matchAll(
      /^\| `(ledgerbell_\w+)` \| (\w+)[^|]*\| ([^|]*)\|/gm,
    );
    const documented = [...rows].map(([, name, type, labels = '']) => [
      name,
      type,
      [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).toSorted(),
    ]);
    const exported = [...late.types]
      .filter(([name]) => name.startsWith('ledgerbell_'))
      .map(([name, type]) => {
        const sample = [...late.samples.keys()].find((it) => it.replace(/\{.*/, '') === name) ?? '';
        const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label);
        return [name, type, labels.toSorted()];
      });
    const byName = (one: unknown[], other: unknown[]) => (String(one[0]) < String(other[0]) ? -1 : 1);
    exported.push([OF_A_SUPERVISOR, 'gauge', ['process']]);
    expect(documented.toSorted(byName)).toEqual(exported.toSorted(byName));
  });

  it('in the runbook is exported', () => {
    const folder = join(ROOT, 'docs/runbook');
    const pages = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    const commands = pages.join('\n').matchAll(/\/metrics \| grep (?:-E '([^']+)'|(\S+))$/gm);
    const patterns = [...commands].flatMap(([, many, one = '']) => (many ?? one).split('|'));
    expect(patterns.length).toBeGreaterThan(10);
    const lines = [...late.samples.keys()];
    expect(patterns.filter((it) => !lines.some((line) => new RegExp(it).test(line)))).toEqual([]);
  });
});
