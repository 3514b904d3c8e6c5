import type { Sql } from '../database/transaction.ts';

/** Bytes per row of import_pieces: well below any max_allowed_packet, and what one process holds of a large file. */
export const PIECE_BYTES = 1024 * 1024;

/** One of an import's pieces, by its number from 0. */
export async function readPiece(sql: Sql, importId: string, seq: number): Promise<Buffer | undefined> {
  const [piece] = await sql.query<{ bytes: Buffer }[]>(
    'SELECT bytes FROM import_pieces WHERE import_id = ? AND seq = ?',
    [importId, seq],
  );
  return piece?.bytes;
}

/** The staged bytes of an import, in their order. @param first its piece 0. */
export async function* readPieces(
  sql: Sql,
  importId: string,
  first: Buffer | undefined,
): AsyncGenerator<Buffer> {
  let piece = first;
  for (let seq = 1; piece !== undefined; seq += 1) {
    yield piece;
    // Only the last one is shorter: none follows it.
    piece = piece.length < PIECE_BYTES ? undefined : await readPiece(sql, importId, seq);
  }
}

/** Cuts a body into pieces of PIECE_BYTES (the last one may be shorter), however it arrives. */
export async function* cutIntoPieces(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (let part of body) {
    while (bytes + part.length >= PIECE_BYTES) {
      const room = PIECE_BYTES - bytes;
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
