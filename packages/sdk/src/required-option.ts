/**
 * An option that must be given. Types allow undefined, because programs pass variables of the environment.
 * @param meaning of the option, for the message: `the address of the API`.
 * @throws {Error} if the option is undefined or empty. The message names it.
 */
export function requireOption(name: string, meaning: string, value: string | undefined): string {
  if (value === undefined || value === '')
    throw new Error(
      `The option ${name}, ${meaning}, is missing or empty. Is its variable of the environment set?`,
    );
  return value;
}
