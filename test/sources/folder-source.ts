import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { RoleName } from '../../src/platform/config.ts';
import { hasPendingFiles } from '../../src/sources/runs/source-files.ts';
import { createAccount } from '../support/movements.ts';
import { commonSourcesDir, type TestService, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Services with folder sources, and customers that have some. */

export const IBAN = 'TR330006100519786457841326';

/** A temporary folder for SOURCES_DIR, which is removed after the file's tests. Call it at the top of the file. */
export function useSourcesDir(): string {
  const name = `${tmpdir()}/ledgerbell-sources-${process.pid}-${Math.random().toString(36).slice(2)}`;
  afterAll(() => rm(name, { recursive: true, force: true }));
  return name;
}

/** The service with folder sources. Call it at the top of the file. */
export function useFolderService({
  roles = ['api', 'importer', 'maintenance'],
}: {
  roles?: readonly RoleName[];
} = {}) {
  return { service: useService({ roles }), sourcesDir: commonSourcesDir() };
}

/** A file that nobody has written to for a minute. */
export async function writeQuietly(path: string, content: string | Uint8Array): Promise<void> {
  await writeFile(path, content);
  const then = new Date(Date.now() - 60_000);
  await utimes(path, then, then);
}

/** A run of a source as the API shows it. */
export interface Run {
  id: number;
  status: 'running' | 'done' | 'failed';
  files: number;
  imports: { id: number; file: string }[];
  started_at: string;
  finished_at: string | null;
  error: string | null;
}

/** Creates a customer with an account and a folder. Its sources run when they are asked to. */
export async function createFolderCustomer(service: TestService, sourcesDir: string) {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key, { iban: IBAN });
  const root = join(sourcesDir, customer.id);
  await mkdir(root, { recursive: true });
  const call = (method: string, path: string, body?: object) =>
    service.call(method, path, body === undefined ? { key } : { key, body });

  /** Creates a source. Its first run, if there is one, is over. */
  async function createSource(fields: object = {}) {
    const { status, body } = await call('POST', '/v1/sources', {
      title: 'Klasör',
      kind: 'folder',
      settings: { path: 'inbox' },
      schedule: { cron: '0 0 1 1 *', time_zone: 'UTC' },
      ...fields,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return String(body.source.id);
  }

  const runs = async (id: string): Promise<Run[]> => (await call('GET', `/v1/sources/${id}/runs`)).body.runs;

  async function runOnce(id: string): Promise<Run> {
    const { body } = await call('POST', `/v1/sources/${id}/run`);
    return until(`a run of source ${id}`, async () => {
      const asked = (await runs(id)).findLast((it) => it.id > (body.previous_run_id ?? 0));
      return asked !== undefined && asked.status !== 'running' && asked;
    });
  }

  const hasEnded = async (importId: number) =>
    ['done', 'failed'].includes((await call('GET', `/v1/imports/${importId}`)).body.import.status);

  /** Asks for a run, and waits for its end and that of its imports. */
  async function run(id: string): Promise<Run> {
    const first = await runOnce(id);
    if (!(await hasPendingFiles(service.runtime.database, id))) return first;
    // A run waits ten seconds for its imports. If they take longer, on a busy machine, the next run moves their files.
    for (const { id: importId } of first.imports)
      await until(`the end of import ${importId}`, () => hasEnded(importId));
    const next = await runOnce(id);
    return { ...first, error: first.error ?? next.error };
  }

  return {
    key,
    customerId: customer.id,
    accountId: String(account.id),
    root,
    call,
    createSource,
    runs,
    run,
    /** Puts a file into a folder of the customer. */
    async drop(name: string, content: string | Uint8Array, folder = 'inbox') {
      await mkdir(join(root, folder), { recursive: true });
      await writeQuietly(join(root, folder, name), content);
    },
    /** The names in a folder of the customer; none: it does not exist. */
    list: async (folder: string) => (await readdir(join(root, folder)).catch(() => [])).toSorted(),
    read: (path: string) => readFile(join(root, path), 'utf8'),
    source: async (id: string) => (await call('GET', `/v1/sources/${id}`)).body.source,
    account: async () => (await call('GET', `/v1/accounts/${account.id}`)).body.accounts[0],
    imports: async () => (await call('GET', '/v1/imports')).body.imports,
    movements: async (): Promise<{ amount: string; date_issue: string }[]> =>
      (await call('GET', '/v1/transactions?starts=2026-01-01')).body.transactions,
  };
}

export const newDirectory = () => mkdtemp(join(tmpdir(), 'ledgerbell-folder-'));
