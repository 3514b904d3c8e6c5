import type { TestService } from './service.ts';

const TABLES =
  `accounts banks imports import_parts import_errors transactions webhooks webhook_filters webhook_backlogs
  webhook_cursors deliveries retries attempts replays sources source_runs source_files source_accounts`.split(
    /\s+/,
  );

/** Counts the rows of every table that a request could write to. A request that is refused must not change them. */
export async function countRows({ runtime }: TestService): Promise<Record<string, string>> {
  const columns = TABLES.map((table) => `(SELECT COUNT(*) FROM ${table}) AS ${table}`);
  const [counts] = await runtime.database.query<Record<string, string>[]>(`SELECT ${columns.join(', ')}`);
  return { ...counts };
}
