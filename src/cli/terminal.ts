import { inWordsOf } from '../statements/unreadable.ts';

/**
 * The output of a command. Only the answer goes to standard output, so that it can be piped. What people read names options where the
 * API's messages name parameters.
 */
export interface Terminal {
  /** Prints the document on one line with --json, else the text. */
  answer(json: boolean | undefined, document: unknown, text: string): void;
  /** Prints progress or advice to standard error. */
  note(line: string): void;
}

type Sink = Pick<NodeJS.WritableStream, 'write'>;

export function createTerminal(output: Sink, errors: Sink): Terminal {
  return {
    answer(json, document, text) {
      output.write(`${json === true ? JSON.stringify(document) : inWordsOf('command line', text)}\n`);
    },
    note(line) {
      errors.write(`${inWordsOf('command line', line)}\n`);
    },
  };
}
