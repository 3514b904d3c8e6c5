/** A wrong or missing environment variable. The message is one line that can be shown as it is, and never contains a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}
