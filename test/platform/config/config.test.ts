import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig, requireServers } from '../../../src/platform/config.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

/** The one-line error with which a wrong environment stops the start. */
function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const { message } = error as ConfigError;
    expect(message).toMatch(/^[^\r\n]+\.$/);
    return message;
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`);
}

describe('the configuration', () => {
  it('has defaults for all variables, and embedded servers', () => {
    expect(readConfig({})).toEqual({
      port: 3000,
      host: '127.0.0.1',
      databaseUrl: undefined,
      redisPrefix: 'ledgerbell',
      redisUrl: undefined,
      dataDir: './.data',
      runtimeDirs: [],
      secretKey: undefined,
      previousSecretKeys: [],
      zone: { text: '+03', minutes: 180 },
      opsHost: '127.0.0.1',
      opsPort: undefined,
      opsTls: undefined,
      opsBehindTls: false,
      admin: undefined,
      opsWebhook: undefined,
      trustedProxies: [],
      allowPrivateEndpoints: [],
      notificationEncoding: 'json',
      rateLimit: 1000,
      deliveryQueues: 1,
      webhooksPerCustomer: 100,
      keysPerCustomer: 100,
      profilesDir: undefined,
      sourcesDir: undefined,
      retention: { deliveries: 90, attempts: 90, imports: 90, movements: null },
      logLevel: 'info',
      keepAlive: 75,
      queueDashboard: 'read-only',
      embedded: 'auto',
      install: 'auto',
    });
  });

  it('treats an empty variable as absent, and ignores unrelated variables', () => {
    const names = ['PORT', 'HOST', 'DATABASE_URL', 'REDIS_URL', 'DATA_DIR', 'SECRET_KEY', 'TIME_ZONE_OFFSET'];
    const more = [
      'OPS_HOST',
      'OPS_PORT',
      'OPS_TLS_CERT_FILE',
      'OPS_TLS_KEY_FILE',
      'OPS_BEHIND_TLS',
      'ADMIN_USER',
      'ADMIN_PASSWORD',
      'TRUSTED_PROXIES',
      'KEEP_ALIVE',
      'ALLOW_PRIVATE_ENDPOINTS',
      'NOTIFICATION_ENCODING',
      'RATE_LIMIT',
      'LOG_LEVEL',
    ];
    const env = Object.fromEntries([...names, ...more, 'EMBEDDED_INSTALL'].map((name) => [name, '']));
    expect(readConfig({ ...env, HOME: '/root', PORTS: 'x' })).toEqual(readConfig({}));
  });

  it.each([
    ['PORT', '0', { port: 0 }],
    ['PORT', '65535', { port: 65_535 }],
    ['HOST', '0.0.0.0', { host: '0.0.0.0' }],
    ['KEEP_ALIVE', '120', { keepAlive: 120 }],
    ['OPS_PORT', '0', { opsPort: 0 }],
    ['OPS_PORT', '9000', { opsPort: 9000 }],
    ['OPS_HOST', 'localhost', { opsHost: 'localhost' }],
    ['OPS_HOST', '::1', { opsHost: '::1' }],
    ['OPS_HOST', '::ffff:127.0.0.1', { opsHost: '::ffff:127.0.0.1' }],
    ['OPS_BEHIND_TLS', 'true', { opsBehindTls: true }],
    ['OPS_BEHIND_TLS', 'false', {}],
    ['TRUSTED_PROXIES', '10.0.0.0/8, ::1/128,', { trustedProxies: ['10.0.0.0/8', '::1/128'] }],
    ['REDIS_URL', 'redis://:p%40ss@host:6379/1', { redisUrl: 'redis://:p%40ss@host:6379/1' }],
    ['REDIS_URL', 'rediss://host', { redisUrl: 'rediss://host' }],
    ['DATA_DIR', '/var/lib/ledgerbell', { dataDir: '/var/lib/ledgerbell' }],
    ['RUNTIME_DIRECTORY', '/run/a:/run/b', { runtimeDirs: ['/run/a'] }],
    ['XDG_RUNTIME_DIR', '/run/user/1000', { runtimeDirs: ['/run/user/1000'] }],
    ['XDG_RUNTIME_DIR', 'run', { runtimeDirs: [] }],
    ['SECRET_KEY', KEY, { secretKey: KEY }],
    ['SECRET_KEY_PREVIOUS', `${KEY},${KEY}`, { previousSecretKeys: [KEY, KEY] }],
    ['TIME_ZONE_OFFSET', '-03:30', { zone: { text: '-03:30', minutes: -210 } }],
    ['TIME_ZONE_OFFSET', '+0545', { zone: { text: '+05:45', minutes: 345 } }],
    ['TIME_ZONE_OFFSET', 'Z', { zone: { text: '+00', minutes: 0 } }],
    [
      'ALLOW_PRIVATE_ENDPOINTS',
      '127.0.0.0/8, ::1/128,',
      { allowPrivateEndpoints: ['127.0.0.0/8', '::1/128'] },
    ],
    ['NOTIFICATION_ENCODING', 'form', { notificationEncoding: 'form' }],
    ['RATE_LIMIT', '0', { rateLimit: 0 }],
    ['RATE_LIMIT', '1000000', { rateLimit: 1_000_000 }],
    ['LOG_LEVEL', 'silent', { logLevel: 'silent' }],
    ['QUEUE_DASHBOARD', 'writable', { queueDashboard: 'writable' }],
    ['EMBEDDED', 'never', { embedded: 'never' }],
    ['EMBEDDED_INSTALL', 'never', { install: 'never' }],
  ])('accepts %s=%s', (name, value, expected) => {
    expect(readConfig({ [name]: value })).toEqual({ ...readConfig({}), ...expected });
  });

  it('accepts a database URL with its secret key, and an admin user with a password', () => {
    const databaseUrl = 'mysql://user:pass@host:3306/ledgerbell';
    const env = {
      DATABASE_URL: databaseUrl,
      SECRET_KEY: KEY,
      ADMIN_USER: 'ops',
      ADMIN_PASSWORD: 'a:bcdefghijk',
    };
    expect(readConfig(env)).toMatchObject({
      databaseUrl,
      secretKey: KEY,
      admin: { user: 'ops', password: 'a:bcdefghijk' },
    });
  });

  it.each([
    ['PORT', ['65536', '-1', 'http', '3000.5', ' 3000', '1e3', '0x50']],
    ['OPS_BEHIND_TLS', ['1', 'yes', 'TRUE']],
    ['OPS_PORT', ['65536', '-1', 'http', '3000.5']],
    ['ADMIN_USER', ['MARKER:ops']],
    ['ADMIN_PASSWORD', ['MARKER', 'MARKER-ABCD']],
    ['KEEP_ALIVE', ['0', '-1', '75s', '3601']],
    ['WEBHOOKS_PER_CUSTOMER', ['0', '-1', 'many', '1000001']],
    ['TRUSTED_PROXIES', ['10.0.0.1', '10/8', 'loopback', '10.0.0.0/8 ::1/128']],
    [
      'DATABASE_URL',
      ['MARKER', 'postgres://u:MARKER@host/db', 'mysql:/MARKER@@', 'mysql://u:MARKER@host:99999/db'],
    ],
    [
      'DATABASE_URL',
      [
        'mysql://u:MARKER@host',
        'mysql://u:MARKER@host/',
        'mysql:MARKER',
        'mysql://u:%zzMARKER@host/db',
        '//u:MARKER@host/db',
      ],
    ],
    [
      'REDIS_URL',
      [
        'MARKER',
        'http://:MARKER@host',
        'redis',
        'redis://:MARKER@host:x/',
        'redis://:MARKER@host/zero',
        'redis://:%zzMARKER@host',
      ],
    ],
    [
      'SECRET_KEY',
      ['MARKER', KEY.slice(1), `${KEY}=`, KEY.replace('=', 'A'), `${KEY}\n`, 'MARKER'.repeat(8)],
    ],
    ['SECRET_KEY_PREVIOUS', ['MARKER', `${KEY};${KEY}`, `${KEY},`, `MARKER,${KEY}`]],
    ['TIME_ZONE_OFFSET', ['3', '+3', '+15', '+03:60', 'Europe/Istanbul', 'UTC', '+03:', '-14:01']],
    [
      'ALLOW_PRIVATE_ENDPOINTS',
      ['10.0.0.0', '10/8', '10.0.0.0/33', 'localhost', '010.0.0.0/8', '::1', 'fe80::1%eth0/64'],
    ],
    ['ALLOW_PRIVATE_ENDPOINTS', ['10.0.0.0/8;::1/128', '10.0.0.0/8\n::1/128', '127.0.0.0/8,all']],
    ['NOTIFICATION_ENCODING', ['JSON', 'xml']],
    ['DELIVERY_QUEUES', ['0', '65', '-1', '1.5', 'four']],
    ['RATE_LIMIT', ['1000001', '9999999', '-1', '1.5', '1e3', ' 5', 'none']],
    ['LOG_LEVEL', ['verbose', 'INFO', '30']],
    ['QUEUE_DASHBOARD', ['yes', 'readonly']],
    ['EMBEDDED', ['yes', 'always']],
    ['EMBEDDED_INSTALL', ['false', 'always']],
  ])('stops the start with one line that names %s: %j', (name, values) => {
    for (const value of values) {
      const message = refusal({ SECRET_KEY: KEY, [name]: value });
      expect(message, value).toMatch(new RegExp(`^${name} must be `));
      expect(message).not.toContain('MARKER');
      expect(message).not.toContain(KEY);
    }
  });

  it('requires SECRET_KEY with DATABASE_URL, and says how to create one', () => {
    for (const env of [{}, { SECRET_KEY: '' }, { REDIS_URL: 'redis://:MARKER@host' }]) {
      const message = refusal({ DATABASE_URL: 'mysql://u:MARKER@host/db', ...env });
      expect(message).toMatch(/^SECRET_KEY must be set .*openssl rand -base64 32/);
      expect(message).not.toContain('MARKER');
    }
    expect(readConfig({ REDIS_URL: 'redis://host' }).secretKey).toBeUndefined();
  });

  it('allows embedded servers, except by default in production or for one of several processes', () => {
    const production = { NODE_ENV: 'production' };
    const separate = { separateRoles: true };
    expect(readConfig({ NODE_ENV: 'development' }).embedded).toBe('auto');
    expect(readConfig(production).embedded).toBe('never');
    expect(readConfig({}, separate).embedded).toBe('never');
    expect(readConfig({ ...production, EMBEDDED: 'auto' }, separate).embedded).toBe('auto');
  });

  it('names the missing URL when embedded servers are not allowed', () => {
    const both = ['databaseUrl', 'redisUrl'] as const;
    const demand = (env: Record<string, string>) => () => requireServers(readConfig(env), both);
    const redis = { REDIS_URL: 'redis://host' };
    const mysql = { DATABASE_URL: 'mysql://u@host/db', SECRET_KEY: KEY };
    expect(demand({ EMBEDDED: 'never' })).toThrow(/^DATABASE_URL and REDIS_URL must be set: .*EMBEDDED=auto/);
    expect(demand({ EMBEDDED: 'never', ...redis })).toThrow(/^DATABASE_URL must be set: /);
    expect(demand({ EMBEDDED: 'never', ...mysql })).toThrow(/^REDIS_URL must be set: /);
    expect(demand({ EMBEDDED: 'never', ...mysql, ...redis })).not.toThrow();
    expect(demand({})).not.toThrow();
  });

  it('requires ADMIN_USER and ADMIN_PASSWORD together, or neither', () => {
    for (const env of [{ ADMIN_USER: 'ops' }, { ADMIN_PASSWORD: 'MARKER-MARKER' }]) {
      const message = refusal(env as Record<string, string>);
      expect(message).toMatch(/ADMIN_USER.*ADMIN_PASSWORD/);
      expect(message).not.toContain('MARKER');
    }
  });

  it('requires a password for an OPS_HOST that other machines can reach', () => {
    for (const host of [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      '::ffff:10.0.0.1',
      'ops.example',
      'localhost.example',
      '1',
    ]) {
      expect(refusal({ OPS_HOST: host })).toMatch(
        /^ADMIN_USER and ADMIN_PASSWORD must be set when OPS_HOST /,
      );
      const env = { OPS_HOST: host, ADMIN_USER: 'ops', ADMIN_PASSWORD: 'MARKER-MARKER' };
      expect(readConfig(env)).toMatchObject({ opsHost: host });
    }
  });

  it('keeps the secrets of valid variables out of the message about an invalid variable', () => {
    const message = refusal({
      PORT: 'x',
      DATABASE_URL: 'mysql://u:MARKER@host/db',
      REDIS_URL: 'redis://:MARKER@host',
      SECRET_KEY: KEY,
      ADMIN_USER: 'ops',
      ADMIN_PASSWORD: 'MARKER-MARKER',
    });
    expect(message).toMatch(/^PORT must be /);
    expect(message).not.toMatch(/MARKER|BwcH/);
  });
});
