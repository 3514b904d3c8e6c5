import type { DataSource } from 'typeorm';
import { abandonConnections, poolOf } from './connection.ts';

/** What max_allowed_packet of MySQL must be. Parts of imports have 1 MiB, and the rows and keys of a chunk go in one statement. Bytes. */
const NEEDED = 16 * 1024 * 1024;

const READ_PACKET_SIZES =
  'SELECT @@SESSION.max_allowed_packet AS ofSession, @@GLOBAL.max_allowed_packet AS ofServer';

/**
 * Says that MySQL takes small statements and refuses larger ones, for a sentence that begins with its name. null: it takes all that
 * Ledgerbell sends. An open connection keeps the value with which it was opened, so connections from before a change are replaced.
 */
export async function findPacketProblem(database: DataSource): Promise<string | null> {
  const [row] = await database.query<{ ofSession: string; ofServer: string }[]>(READ_PACKET_SIZES);
  const bytes = Number(row?.ofServer);
  const pool = poolOf(database);
  if (Number(row?.ofSession) !== bytes && pool !== undefined) abandonConnections(pool);
  if (bytes >= NEEDED) return null;
  return `refuses large imports: max_allowed_packet is ${bytes}, and must be ${NEEDED} (16M) or more. Run SET GLOBAL max_allowed_packet = ${NEEDED}, and set it in MySQL's configuration`;
}
