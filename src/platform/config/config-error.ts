import * as v from 'valibot';

/** A wrong or missing environment variable. The message is one line for the user, and never contains a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Turns a parser that throws into a schema that fails with the parser's message. */
export const parsedBy = <T>(parse: (text: string) => T) =>
  v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
    try {
      return parse(dataset.value);
    } catch (error) {
      addIssue({ message: error instanceof Error ? error.message : String(error) });
      return NEVER;
    }
  });
