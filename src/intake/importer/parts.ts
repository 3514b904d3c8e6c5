import type { Sql } from '../../database/transaction.ts';

/** Bytes per row of import_parts. Well below any max_allowed_packet. A process holds about this much of a large file in memory. */
export const PART_BYTES = 1024 * 1024;

/** Reads one part of an import. Parts are numbered from 0. */
export async function readPart(sql: Sql, importId: string, seq: number): Promise<Buffer | undefined> {
  const [part] = await sql.query<{ bytes: Buffer }[]>(
    'SELECT bytes FROM import_parts WHERE import_id = ? AND seq = ?',
    [importId, seq],
  );
  return part?.bytes;
}

/** Yields the parts of an import in order. @param first part 0, which has been read already. */
export async function* readParts(
  sql: Sql,
  importId: string,
  first: Buffer | undefined,
): AsyncGenerator<Buffer> {
  let part = first;
  for (let seq = 1; part !== undefined; seq += 1) {
    yield part;
    // Only the last part is shorter.
    part = part.length < PART_BYTES ? undefined : await readPart(sql, importId, seq);
  }
}

/** Cuts a body into parts of PART_BYTES, whatever the sizes of its chunks. The last part may be shorter. */
export async function* cutIntoParts(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (let part of body) {
    while (bytes + part.length >= PART_BYTES) {
      const room = PART_BYTES - bytes;
      yield Buffer.concat([...parts, part.subarray(0, room)]);
      part = part.subarray(room);
      parts = [];
      bytes = 0;
    }
    if (part.length > 0) parts.push(part);
    bytes += part.length;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}
