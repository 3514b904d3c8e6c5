import { type DataSource, Not } from 'typeorm';
import { Import } from '../../database/entities/import.ts';
import type { Caller } from '../../http/environment.ts';
import { notFound } from '../../http/problem.ts';

/** A key limited to accounts sees the imports it made itself; those of other keys may tell of other accounts. */
const visible = ({ customerId, apiKeyId, accountIds }: Caller) => ({
  customerId,
  status: Not('receiving' as const),
  ...(accountIds === 'all' ? {} : { apiKeyId }),
});

const NEWEST = 100;

/** The newest hundred, newest first. */
export function findImports(database: DataSource, caller: Caller): Promise<Import[]> {
  return database.getRepository(Import).find({ where: visible(caller), order: { id: 'DESC' }, take: NEWEST });
}

/** @throws {Problem} 404. */
export async function findImport(database: DataSource, caller: Caller, id: string): Promise<Import> {
  const found = await database.getRepository(Import).findOneBy({ ...visible(caller), id });
  if (found === null) throw notFound('import');
  return found;
}
