/** Programs of every language must run here: what is missing is a failure. `.ci/run` sets it. */
const ALL = process.env.TEST_ALL_LANGUAGES === 'true';

/**
 * Installs what a page's program needs.
 * @returns why that is impossible on this machine, which it also prints: the language is missing, or the registry of its packages
 * does not answer. null if everything is there.
 * @throws instead, when TEST_ALL_LANGUAGES is set.
 */
export async function findMissing(page: string, install: () => unknown): Promise<string | null> {
  try {
    await install();
    return null;
  } catch (error) {
    if (ALL) throw error;
    const [reason = ''] = String(error).split('\n');
    const missing = `docs/receiving/${page} is not run: ${reason}`;
    console.error(missing);
    return missing;
  }
}
