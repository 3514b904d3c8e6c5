import type { StatementEvent } from '../statement.ts';
import { createAggregateReader } from './aggregates.ts';
import { createStatementReader } from './statements.ts';
import { createTokenizer } from './tokens.ts';

/**
 * Parses OFX 1 (SGML), OFX 2 (XML) and QFX: the statements of bank accounts and credit cards.
 * Source: Open Financial Exchange 1.6 and 2.2, chapters 3 and 11, and what banks make of it (docs/formats/ofx.md).
 */
export async function* parseOfx(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const tokenizer = createTokenizer();
  const aggregates = createAggregateReader();
  const statements = createStatementReader();
  for await (const part of text) {
    const tokens = tokenizer.read(part);
    const events = statements.read(aggregates.read(tokens));
    if (events.length > 0) yield events;
  }
  const events = [
    ...statements.read(aggregates.read(tokenizer.end())),
    ...statements.read(aggregates.end(tokenizer.line())),
    ...statements.end(tokenizer.line()),
  ];
  if (events.length > 0) yield events;
}
