import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { documentOf, runHere } from '../../cli/command.ts';
import { useCollector } from '../../support/collector.ts';
import { movement } from '../../support/movements.ts';
import type { ServiceProcess } from '../../support/process.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useServers, useServiceProcesses } from '../../support/service-processes.ts';
import { until } from '../../support/until.ts';
import { webhook } from '../../support/webhooks.ts';

const collector = useCollector();
const receiver = useReceiver();
const { start, newDirectory } = useServiceProcesses();

const servers = useServers();

let key: string;
let imports = 0;

async function startWith(traces: Record<string, string>) {
  const loadedPackages = join(await newDirectory(), 'packages');
  await writeFile(loadedPackages, '');
  const service = start({
    ...traces,
    ...servers,
    NODE_OPTIONS: `--import=${new URL('../../support/loaded-packages.fixture.mjs', import.meta.url)}`,
    LOADED_PACKAGES: loadedPackages,
  });
  const loaded = async () => {
    const packages = await readFile(loadedPackages, 'utf8');
    return packages.split('\n').filter((name) => name.includes('opentelemetry'));
  };
  return { service, url: await service.url(), loaded };
}

async function post(url: string, path: string, body: object) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as { account: { id: number } };
}

/** Imports a movement for an account and a webhook of its own. @returns the headers of its notification. */
async function deliver({ url }: { url: string }): Promise<Record<string, string>> {
  imports += 1;
  const path = `/${imports}`;
  const account = { bank: 'Akbank', title: `Kasa ${imports}`, currency: 'TRY' };
  const id = String((await post(url, '/v1/accounts', account)).account.id);
  await post(url, '/v1/webhooks', webhook({ endpoint: receiver.url + path, account: id }));
  await post(url, '/v1/imports', { transactions: [movement(id)] });
  await until('the notification', () => receiver.at(path).length > 0);
  return receiver.at(path)[0]?.headers ?? {};
}

const end = ({ service }: { service: ServiceProcess }) => service.end('SIGTERM');

it('a process without a traces endpoint loads nothing of the SDK and sends no traceparent', async () => {
  const running = await startWith({ OTEL_SERVICE_NAME: 'bells' });
  key = documentOf(await runHere(['customers', 'create', '--name', 'İz', '--json'], servers)).api_key;
  expect(await deliver(running)).not.toHaveProperty('traceparent');
  expect(await running.loaded()).toEqual([]);
  expect(await end(running)).toBe(0);
});

it('SIGTERM sends the last spans, with the service name and attributes from the environment', async () => {
  const running = await startWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x',
    OTEL_SERVICE_NAME: 'bells',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    // Spans are sent at the end only.
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
  });
  const { traceparent } = await deliver(running);
  expect(await running.loaded()).toContain('@opentelemetry/sdk-trace-base');
  expect(collector.spans).toEqual([]);
  expect(await end(running)).toBe(0);
  const post = collector.spans.find(({ spanId }) => traceparent?.includes(spanId));
  expect(post).toMatchObject({
    name: 'POST',
    resource: { 'service.name': 'bells', 'deployment.environment.name': 'test' },
  });
  expect(collector.requests[0]?.headers.authorization).toBe('Bearer x');
});

it('SIGTERM ends the process properly although the collector hangs', async () => {
  collector.answer(() => {});
  const running = await startWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
  });
  await deliver(running);
  // Exit code 0 is the orderly end; the process itself ends with 1 when ten seconds are over.
  expect(await end(running)).toBe(0);
});
