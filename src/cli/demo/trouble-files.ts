import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { formatCount } from '../../platform/text.ts';
import { SourceAnswer } from '../commands/sources.ts';
import { ImportAnswer } from '../import-progress.ts';
import type { BankMonth } from './bank-files.ts';
import type { DemoCustomer } from './demo-customer.ts';
import { DEAD_URL, type Sight } from './trouble-webhooks.ts';

const FOLDER = 'inbox';

/** Sends a zip with a statement and a file that is not a statement. The statement is stored, and then the import fails. */
export async function sendFailingImport({ api }: DemoCustomer, { mt940 }: BankMonth): Promise<Sight> {
  const body = Buffer.from(
    zipSync({ 'november.sta': mt940, 'terms.pdf': Buffer.from('%PDF-1.7\nThe terms of the bank.\n') }),
  );
  const upload = { type: 'application/octet-stream', bytes: body.length, body };
  const { import: accepted } = await api.upload('/v1/imports?create_accounts=true', upload, ImportAnswer);
  return {
    name: 'failed import',
    command: `imports show ${accepted.id}`,
    page: `/ops/imports/${accepted.id}`,
    async find() {
      const { status, error } = (await api.get(`/v1/imports/${accepted.id}`, ImportAnswer)).import;
      return status === 'failed' ? error : null;
    },
  };
}

/** Creates a source whose server cannot be reached. */
export async function createFailingSource({ api }: DemoCustomer): Promise<Sight> {
  const { source } = await api.post(
    '/v1/sources',
    {
      title: 'Statements of the bank',
      kind: 'http',
      settings: { url: `${DEAD_URL}statements/today.sta` },
      schedule: { every: '30s' },
    },
    SourceAnswer,
  );
  return {
    name: 'failing source',
    command: `sources show ${source.id}`,
    page: `/ops/sources/${source.id}`,
    async find() {
      return (await api.get(`/v1/sources/${source.id}`, SourceAnswer)).source.error;
    },
  };
}

/** Creates a source that collects a folder with one file in it. */
export async function createHealthySource(
  { id, api }: DemoCustomer,
  { mt940, movements }: BankMonth,
  sourcesDir: string,
): Promise<Sight> {
  const folder = join(sourcesDir, id, FOLDER);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'november.sta'), mt940);
  const { source } = await api.post(
    '/v1/sources',
    {
      title: 'Statements folder',
      kind: 'folder',
      settings: { path: FOLDER },
      schedule: { every: '10s' },
      create_accounts: true,
    },
    SourceAnswer,
  );
  return {
    name: 'healthy source',
    command: `sources show ${source.id}`,
    page: `/ops/sources/${source.id}`,
    async find() {
      const shown = (await api.get(`/v1/sources/${source.id}`, SourceAnswer)).source;
      const isDone = shown.last_run_at !== null && !shown.is_running && shown.error === null;
      return isDone ? `no error, ${formatCount(movements.length)} movements in its file` : null;
    },
  };
}
