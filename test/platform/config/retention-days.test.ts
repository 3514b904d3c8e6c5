import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../src/platform/config.ts';

/** The one-line error with which a wrong environment stops the start. */
function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`);
}

describe('a retention setting', () => {
  const env = {
    RETENTION_DELIVERIES: '365d',
    RETENTION_ATTEMPTS: 'forever',
    RETENTION_IMPORTS: '1d',
    RETENTION_MOVEMENTS: '400d',
  };

  it('accepts a number of days or forever', () => {
    expect(readConfig(env).retention).toEqual({
      deliveries: 365,
      attempts: null,
      imports: 1,
      movements: 400,
    });
  });

  it.each([
    ['RETENTION_DELIVERIES', ['90', '0d', '36501d', '-1d', '90 d', '12w', 'for-ever', 'never', '1e2d']],
    ['RETENTION_ATTEMPTS', ['d', '1.5d']],
    ['RETENTION_IMPORTS', ['90D']],
    ['RETENTION_MOVEMENTS', ['1y']],
  ])('refuses other values: %s %j', (name, values) => {
    for (const value of values) {
      expect(refusal({ [name]: value })).toBe(
        `${name} must be a number of days from 1d to 36500d, such as 90d, or forever.`,
      );
    }
  });

  it('must be at least a month for movements, and not shorter than for deliveries', () => {
    expect(refusal({ RETENTION_DELIVERIES: '10d', RETENTION_MOVEMENTS: '29d' })).toMatch(
      /^RETENTION_MOVEMENTS must be at least 30d: /,
    );
    for (const deliveries of ['401d', 'forever']) {
      expect(refusal({ ...env, RETENTION_DELIVERIES: deliveries })).toMatch(
        /^RETENTION_MOVEMENTS must not be shorter than RETENTION_DELIVERIES: /,
      );
    }
    expect(refusal({ RETENTION_MOVEMENTS: '60d' })).toContain('RETENTION_DELIVERIES');
  });
});
