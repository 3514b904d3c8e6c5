import { inWordsOf } from '../statements/unreadable.ts';

/**
 * The output of a command. Only the answer goes to standard output, so that it can be piped. Texts for people name options instead of the
 * API's parameters.
 */
export interface Terminal {
  /** With --json, prints the document on one line. Otherwise prints the text. */
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
