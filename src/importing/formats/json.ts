import type { Row } from './format.ts';

/** `{ "transactions": [ … ] }`, checked as a whole before it was accepted; lines count its members from 1. */
export async function* readJson(pieces: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
  const parts: Buffer[] = [];
  for await (const piece of pieces) parts.push(piece);
  const { transactions } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { transactions: unknown[] };
  yield transactions.map((value, index) => ({ line: index + 1, value }));
}
