import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/platform/config.ts';
import { redisOptions } from '../../../src/platform/redis.ts';
import { parseMysqlUrl, parseRedisUrl } from '../../../src/platform/server-urls.ts';

const directory = mkdtempSync(join(tmpdir(), 'ledgerbell-urls-'));
afterAll(() => rmSync(directory, { recursive: true }));
const noCertificate = join(directory, 'no-certificate.pem');
writeFileSync(noCertificate, 'MARKER');

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const MYSQL = 'mysql://user:p%40ss@db.example/ledgerbell';

describe('DATABASE_URL', () => {
  it.each([
    ['?sslmode=require', 'must not have the parameter "sslmode": it takes ssl-mode, ssl-ca, socketPath.'],
    ['?ssl-mode=required&charset=latin1', 'must not have the parameter "charset"'],
    ['?ssl-mode=required&ssl-mode=verify-ca', 'must have ssl-mode only once.'],
    ['?ssl-mode=MARKER', 'must have required, verify-ca or verify-identity as its ssl-mode.'],
    ['?ssl-mode=preferred', 'must have required, verify-ca or verify-identity as its ssl-mode.'],
    ['?ssl-mode=verify-ca', 'must have ssl-ca=FILE beside ssl-mode=verify-ca'],
    ['?ssl-ca=MARKER.pem', 'must have ssl-mode=verify-ca or ssl-mode=verify-identity beside ssl-ca.'],
    [
      '?ssl-mode=verify-ca&ssl-ca=/MARKER.pem',
      'must have a readable PEM file of certificates as its ssl-ca (ENOENT).',
    ],
    [
      `?ssl-mode=verify-ca&ssl-ca=${noCertificate}`,
      'must have a readable PEM file of certificates as its ssl-ca (it is no certificate).',
    ],
    ['?ssl-mode=required&socketPath=/run/MARKER', 'must have either socketPath or ssl-mode, not both.'],
  ])('with %s is refused', (parameters, reason) => {
    const read = () => readConfig({ DATABASE_URL: MYSQL + parameters, SECRET_KEY });
    expect(read).toThrow(`DATABASE_URL ${reason}`);
    expect(read).not.toThrow(/MARKER|p%40ss|p@ss/);
  });

  it('without ssl-mode has no TLS settings', () => {
    expect(parseMysqlUrl(MYSQL)).toMatchObject({
      hosts: [{ host: 'db.example', port: 3306 }],
      password: 'p@ss',
      tls: null,
    });
    expect(parseMysqlUrl('mysql://u@[::1]:3307/db')).toMatchObject({
      hosts: [{ host: '::1', port: 3307 }],
      password: '',
    });
    expect(parseMysqlUrl(`${MYSQL}?socketPath=%2Frun%2Fa.sock`)).toMatchObject({ socketPath: '/run/a.sock' });
  });

  it('accepts several hosts with their ports', () => {
    expect(parseMysqlUrl('mysql://u:p%2C@one,two:3307,[::1]:3308/db?ssl-mode=required')).toMatchObject({
      hosts: [
        { host: 'one', port: 3306 },
        { host: 'two', port: 3307 },
        { host: '::1', port: 3308 },
      ],
      username: 'u',
      password: 'p,',
      database: 'db',
    });
  });

  it.each([
    ['mysql://u:MARKER@one,,two/db', 'must be a URL such as mysql://'],
    ['mysql://u:MARKER@one,two:0x/db', 'must be a URL such as mysql://'],
    ['mysql://u:MARKER@one,two/db?socketPath=/x', 'must have either several hosts or socketPath, not both'],
  ])('%s is refused', (url, reason) => {
    const read = () => readConfig({ DATABASE_URL: url, SECRET_KEY });
    expect(read).toThrow(`DATABASE_URL ${reason}`);
    expect(read).not.toThrow(/MARKER/);
  });
});

describe('REDIS_URL', () => {
  it('accepts socketPath and no other parameter', () => {
    const reconnectOnError = expect.any(Function);
    expect(redisOptions('redis://:p%40ss@localhost/2?socketPath=%2Frun%2Fr.sock')).toEqual({
      reconnectOnError,
      path: '/run/r.sock',
      password: 'p@ss',
      db: 2,
    });
    expect(redisOptions('rediss://me:p@[::1]')).toEqual({
      reconnectOnError,
      host: '::1',
      port: 6379,
      username: 'me',
      password: 'p',
      tls: {},
      db: 0,
    });
    expect(() => readConfig({ REDIS_URL: 'redis://:MARKER@host/0?family=6' })).toThrow(
      'REDIS_URL must not have the parameter "family": it takes socketPath, ssl-ca.',
    );
  });

  it('accepts nodes of a cluster, and a map of the addresses that the cluster announces', () => {
    expect(
      parseRedisUrl(
        'rediss+cluster://me:p%40ss@one,[::1]:7001?nat-map=10.0.0.1:6379=one:7000,10.0.0.2:6379=[::1]:7001',
      ),
    ).toMatchObject({
      hosts: [
        { host: 'one', port: 6379 },
        { host: '::1', port: 7001 },
      ],
      username: 'me',
      password: 'p@ss',
      tls: {},
      cluster: {
        natMap: {
          '10.0.0.1:6379': { host: 'one', port: 7000 },
          '10.0.0.2:6379': { host: '::1', port: 7001 },
        },
      },
    });
  });

  it('accepts several sentinels and the name of the master', () => {
    expect(
      redisOptions('redis+sentinel://:p%40ss@one,two:5000,[::1]:5001/3?name=main&sentinel-password=s'),
    ).toMatchObject({
      sentinels: [
        { host: 'one', port: 26_379 },
        { host: 'two', port: 5_000 },
        { host: '::1', port: 5_001 },
      ],
      name: 'main',
      password: 'p@ss',
      sentinelPassword: 's',
      db: 3,
    });
    expect(redisOptions('rediss+sentinel://one:1,two:2/0?name=main')).toMatchObject({
      tls: {},
      sentinelTLS: {},
      enableTLSForSentinelMode: true,
    });
  });

  it.each([
    ['redis+sentinel://:MARKER@one,two/0', 'must have name=NAME'],
    ['redis+sentinel://:MARKER@one,:5/0?name=main', 'must be a URL such as redis+sentinel://'],
    ['redis+sentinel://:MARKER@one/0?name=main&socketPath=/x', 'must not have the parameter "socketPath"'],
    ['redis://:MARKER@one/0?ssl-ca=/x.pem', 'must begin with rediss'],
    ['redis+cluster://:MARKER@one,two/1', 'must be a URL such as redis+cluster://'],
    ['redis+cluster://:MARKER@one?nat-map=MARKER', 'must have announced:port=host:port'],
    ['redis://:MARKER@one,two/0', 'must be a URL such as redis://'],
    ['rediss://:MARKER@one/0?ssl-ca=/MARKER.pem', 'must have a readable PEM file'],
  ])('%s is refused', (url, reason) => {
    const read = () => readConfig({ REDIS_URL: url });
    expect(read).toThrow(`REDIS_URL ${reason}`);
    expect(read).not.toThrow(/MARKER/);
  });
});
