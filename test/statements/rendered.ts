import type { Entry, StatementParser } from '../../packages/statements/src/statement.ts';

/** A file, with the parser that reads it if it is not the usual one of its format. */
export interface File {
  text: string;
  parse?: StatementParser;
}

/** A file that was made of random movements, and what a parser has to find in it. */
export interface Rendered extends File {
  /** The members of each entry that are compared. */
  entries: readonly { [K in keyof Entry]?: Entry[K] | undefined }[];
  statements: readonly { number: string | null; closing: bigint | null }[];
}
