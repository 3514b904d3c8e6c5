import { STATEMENT_FORMATS } from '../../packages/statements/src/formats.ts';
import type { Role, Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { createBudget, FOREVER } from '../platform/budget.ts';
import { CONCURRENCY, type ImportJob, QUEUES, queueImports, startWorker } from '../platform/queues.ts';
import { createImporter, type ImportOutcome } from './importer/importer.ts';
import { FORMATS } from './importer/rows.ts';
import type { FileReader } from './parser-threads.ts';
import { createWithdrawer, findWithdrawingCustomers } from './withdrawing/withdrawer.ts';

/**
 * Runs the jobs of the queue `imports`: one for each customer with unfinished imports or withdrawals. Customers take turns.
 * @param options.slots customers at a time.
 */
export function startImporterWorker(
  runtime: Runtime,
  reader: FileReader,
  { timeSlice = TIME_SLICE, slots }: { timeSlice?: number; slots?: number } = {},
): Role {
  const { database, queues, log, metrics, tracing } = runtime;
  const shutdown = new AbortController();
  // A customer's turn is the time in which it stores a chunk. While a thread reads or compares its file, others store.
  const turns = createBudget({ total: STORING_AT_ONCE, perOwner: 1, patience: FOREVER });
  const importer = createImporter({
    database,
    reader,
    takeTurn: (customerId) => turns.reserve(customerId, 1),
    wake: (webhookIds) => wakeWebhooks(runtime, webhookIds),
    log,
    metrics: metrics.imports,
    tracing,
  });
  const runWithdrawals = createWithdrawer({
    database,
    takeTurn: (customerId) => turns.reserve(customerId, 1),
    wake: (webhookIds, options) => wakeWebhooks(runtime, webhookIds, options),
    log,
  });
  metrics.imports.announce([...Object.keys(FORMATS), 'auto', ...STATEMENT_FORMATS]);
  const worker = startWorker<ImportJob>(
    runtime,
    { queue: QUEUES.imports, concurrency: slots ?? CONCURRENCY.imports },
    async ({ data: { customerId }, attemptsStarted }) => {
      // While Redis is unreachable, a running import continues.
      const othersWait = async () =>
        reader.isAwaited?.() ||
        queues.imports.getWaitingCount().then(
          (waiting) => waiting > 0,
          () => false,
        );
      // The job of a dead process is started again. Its oldest import may have crashed that process.
      let again = attemptsStarted > 1;
      let previous: string | null = null;
      for (const began = performance.now(); ; again = false) {
        const mayGoOn = createTimeSlice(timeSlice, othersWait);
        // They concern what is stored, so they come before what is not.
        const withdrawals = await runWithdrawals(
          customerId,
          async () => !shutdown.signal.aborted && (await mayGoOn()),
        );
        if (withdrawals === 'taken over') return;
        let outcome: ImportOutcome = 'given back';
        if (withdrawals === 'done') {
          const importId = await findOldest(database, customerId);
          // If it is the same import again, another process has taken it over, and will continue with the others.
          if (importId === null || importId === previous) return;
          previous = importId;
          outcome = await importer.run(importId, shutdown.signal, { again, mayGoOn });
        }
        const isSliceOver = performance.now() - began > timeSlice && (await othersWait());
        if (outcome === 'given back' || isSliceOver || shutdown.signal.aborted) {
          // Queues the customer behind the others. If Redis is unreachable, the reconciler does it.
          await queueImports(queues, [customerId]).catch(() => {});
          return;
        }
      }
    },
  );
  return {
    name: 'importer',
    async stop() {
      shutdown.abort();
      await worker.close();
    },
  };
}

/** Customers whose chunks are stored at the same time. More would not be faster, because they wait for the same disk. */
const STORING_AT_ONCE = 2;

/** Milliseconds after which a customer's turn ends if other customers wait. */
const TIME_SLICE = 3_000;

/**
 * Says after each chunk of an import whether its turn continues. It continues for the time slice, and for as long as no other
 * customer waits. The time slice is longer if the import first had to read rows that it stored in earlier turns.
 */
function createTimeSlice(length: number, othersWait: () => Promise<boolean>): () => Promise<boolean> {
  const began = performance.now();
  let end: number | null = null;
  return async () => {
    const now = performance.now();
    end ??= now + Math.max(length, 4 * (now - began));
    return now < end || !(await othersWait());
  };
}

/**
 * The oldest import of each status, so that MySQL reads one entry of each instead of all unfinished imports. Index:
 * imports_customer_status.
 */
const OLDEST = ['queued', 'running']
  .map(
    (status) => `
      (SELECT id FROM imports FORCE INDEX (imports_customer_status)
       WHERE customer_id = ? AND status = '${status}' ORDER BY id LIMIT 1)`,
  )
  .join(' UNION ALL ');

/** Finds the oldest unfinished import of a customer. The imports of a customer are stored in the order in which they came. */
export async function findOldest(sql: Sql, customerId: string): Promise<string | null> {
  const oldest = await sql.query<{ id: string }[]>(OLDEST, [customerId, customerId]);
  const ids = oldest.map(({ id }) => BigInt(id)).toSorted((one, other) => (one < other ? -1 : 1));
  return ids[0]?.toString() ?? null;
}

/** Index: imports_status. */
const CUSTOMERS = `
  SELECT customer_id AS id, COUNT(*) AS imports FROM imports FORCE INDEX (imports_status)
  WHERE status IN ('queued', 'running') GROUP BY customer_id`;

const PAGE = 1_000;

/**
 * Queues each customer with unfinished imports or withdrawals. A customer that has a job already keeps it.
 * @returns the number of unfinished imports.
 */
export async function reconcileImports(
  sql: Sql,
  queue: (customerIds: readonly string[]) => Promise<void>,
): Promise<number> {
  const customers = await sql.query<{ id: string; imports: string | number }[]>(CUSTOMERS);
  for (let at = 0; at < customers.length; at += PAGE) {
    await queue(customers.slice(at, at + PAGE).map(({ id }) => id));
  }
  const withdrawing = await findWithdrawingCustomers(sql);
  if (withdrawing.length > 0) await queue(withdrawing);
  return customers.reduce((sum, { imports }) => sum + Number(imports), 0);
}
