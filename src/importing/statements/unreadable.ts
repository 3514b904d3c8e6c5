/** A file that cannot be read at all. The message is one sentence for its sender. */
export class UnreadableFileError extends Error {
  override name = 'UnreadableFileError';
  /** What the sender can do, for an answer to the upload. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}
