import type { Row } from './format.ts';

/** `{ "transactions": [ … ] }`, checked as a whole before it was accepted; lines count its members from 1. */
export async function* readJson(parts: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
  const bytes: Buffer[] = [];
  for await (const part of parts) bytes.push(part);
  // TextDecoder leaves out a byte order mark, as it did when the body was checked.
  const text = new TextDecoder().decode(Buffer.concat(bytes));
  const { transactions } = JSON.parse(text) as { transactions: unknown[] };
  yield transactions.map((value, index) => ({ line: index + 1, value }));
}
