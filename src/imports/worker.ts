import { WaitingError } from 'bullmq';
import { wakeWebhooks } from '../deliveries/wake.ts';
import type { Sql } from '../platform/database/transaction.ts';
import type { ImportJob } from '../platform/queues/queues.ts';
import { startWorker } from '../platform/queues/worker.ts';
import type { Role, Runtime } from '../platform/runtime.ts';
import { STATEMENT_FORMATS, type StatementFormats } from '../statements/formats.ts';
import { createImporter } from './importer.ts';
import { FORMATS } from './rows.ts';

/** Runs the jobs of the queue `imports`. */
export function startImporterWorker(runtime: Runtime, formats: StatementFormats): Role {
  const { database, log, metrics, tracing } = runtime;
  const shutdown = new AbortController();
  const importer = createImporter({
    database,
    formats,
    wake: (webhookIds) => wakeWebhooks(runtime, webhookIds),
    log,
    metrics: metrics.imports,
    tracing,
  });
  metrics.imports.announce([...Object.keys(FORMATS), 'auto', ...STATEMENT_FORMATS]);
  const worker = startWorker<ImportJob>(runtime, 'imports', async (job, token) => {
    const outcome = await importer.run(job.data.importId, shutdown.signal, job.attemptsStarted > 1);
    if (outcome === 'given back') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
  });
  return {
    name: 'importer',
    async stop() {
      shutdown.abort();
      await worker.close();
    },
  };
}

const PAGE = 1_000;

const UNFINISHED = `
  SELECT id FROM imports WHERE status IN ('queued', 'running') AND id > ? ORDER BY id LIMIT ${PAGE}`;

/**
 * Queues every unfinished import. An import that has a job already keeps it, because the job's id contains the import's id.
 * @returns the number of unfinished imports.
 */
export async function reconcileImports(
  sql: Sql,
  queue: (importIds: readonly string[]) => Promise<void>,
): Promise<number> {
  let unfinished = 0;
  for (let after = '0'; ; ) {
    const page = await sql.query<{ id: string }[]>(UNFINISHED, [after]);
    await queue(page.map(({ id }) => id));
    unfinished += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return unfinished;
    after = last.id;
  }
}
