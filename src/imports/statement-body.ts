import { Problem } from '../http/problem.ts';
import { checkBeginning, type Recognition } from '../importing/statements/read-file.ts';
import { UnreadableFileError } from '../importing/statements/unreadable.ts';

/**
 * Refuses a file whose beginning shows that it cannot be read, so that nobody has to follow an import to find out.
 * @returns all of the file, the beginning included.
 * @throws {Problem} 422 with what is supported and what to do.
 */
export async function requireReadable(
  file: AsyncIterable<Uint8Array>,
  recognition: Recognition,
): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await checkBeginning(file, recognition);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    const { message, advice } = error;
    throw new Problem('unreadable-file', advice === undefined ? message : `${message} ${advice}`, {
      errors: [{ path: 'file', message }],
    });
  }
}
