import type { Row } from './format.ts';

/** Reads `{ "transactions": [ … ] }`, which was validated before it was accepted. `line` is the position in the array, from 1. */
export async function* readJson(parts: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
  const bytes: Buffer[] = [];
  for await (const part of parts) bytes.push(part);
  // TextDecoder removes a byte order mark, as it did when the body was validated.
  const text = new TextDecoder().decode(Buffer.concat(bytes));
  const { transactions } = JSON.parse(text) as { transactions: unknown[] };
  yield transactions.map((value, index) => ({ line: index + 1, value }));
}
