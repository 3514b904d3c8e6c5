import type { Row } from './format.ts';

/** `{ "transactions": [ … ] }`, checked as a whole before it was accepted; lines count its members from 1. */
export async function* readJson(pieces: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
  const parts: Buffer[] = [];
  for await (const piece of pieces) parts.push(piece);
  // TextDecoder leaves out a byte order mark, as it did when the body was checked.
  const text = new TextDecoder().decode(Buffer.concat(parts));
  const { transactions } = JSON.parse(text) as { transactions: unknown[] };
  yield transactions.map((value, index) => ({ line: index + 1, value }));
}
