/**
 * `archive`: a gzip or zip cannot be unpacked, so that what follows is not known. `no statements`: a file of another kind, such as a PDF.
 * `statements`: a file that should hold statements.
 */
type Kind = 'archive' | 'no statements' | 'statements';

/** A file that cannot be read at all. The message is one sentence for its sender. */
export class UnreadableFileError extends Error {
  override name = 'UnreadableFileError';
  /** Advice for the sender, for an answer to the upload. */
  readonly hint: string | undefined;
  readonly #kind: Kind;

  constructor(message: string, hint?: string, kind: Kind = 'statements') {
    super(message);
    this.hint = hint;
    this.#kind = kind;
  }

  /** What cannot be read. */
  get kind(): Kind {
    return this.#kind;
  }
}
