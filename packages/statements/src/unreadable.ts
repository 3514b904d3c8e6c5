/** A file that cannot be read at all. The message is one sentence for its sender. */
export class UnreadableFileError extends Error {
  override name = 'UnreadableFileError';
  /** Advice for the sender, for an answer to the upload. */
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}
