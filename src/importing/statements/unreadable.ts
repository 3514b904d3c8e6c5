/** A file that cannot be read at all. The message is one sentence for its sender. */
export class UnreadableFileError extends Error {
  override name = 'UnreadableFileError';
}
