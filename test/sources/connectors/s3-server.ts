import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll } from 'vitest';
import type { S3Credentials } from '../../../src/sources/connectors/settings.ts';

const FIXTURE = join(import.meta.dirname, 's3rver.fixture.ts');

/** The only credentials that the server accepts. */
export const CREDENTIALS: S3Credentials = { access_key_id: 'S3RVER', secret_access_key: 'S3RVER' };

export interface S3Server {
  readonly endpoint: string;
  readonly port: number;
  /** Makes a bucket that no other test has. @returns its name. */
  createBucket(): Promise<string>;
  put(bucket: string, key: string, body: string | Buffer): Promise<void>;
}

/** An S3 server for this test file, on a loopback port. */
export function useS3Server(): S3Server {
  let directory: string;
  let server: ChildProcess | undefined;
  let client: S3Client;
  let port = 0;
  let buckets = 0;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ledgerbell-s3-'));
    // It encrypts what leads to the next page of a list with DES, which OpenSSL 3 knows only with this option.
    server = spawn(
      process.execPath,
      ['--openssl-legacy-provider', '--import', 'tsx', FIXTURE, directory, CREDENTIALS.secret_access_key],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    if (server.stdout === null) throw new Error('s3rver has no output');
    const [line] = await once(server.stdout, 'data');
    port = Number(line);
    client = new S3Client({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    });
  });
  afterAll(async () => {
    client?.destroy();
    server?.kill();
    await rm(directory, { recursive: true, force: true });
  });

  return {
    get endpoint() {
      return `http://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    async createBucket() {
      buckets += 1;
      const name = `bank-${buckets}`;
      await client.send(new CreateBucketCommand({ Bucket: name }));
      return name;
    },
    async put(bucket, key, body) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
    },
  };
}
