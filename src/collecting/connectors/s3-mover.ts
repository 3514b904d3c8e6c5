import type { S3Client } from '@aws-sdk/client-s3';
import type { FileOutcome } from '../connector.ts';
import { numberedName } from './file-names.ts';
import { explainS3, type S3Access, type Sdk } from './s3-client.ts';
import { foldersOf } from './s3-settings.ts';

/** Moves objects to `done/` or `failed/` when they have been collected. S3 cannot rename: they are copied, then deleted. */

/**
 * Returns a function that puts an object away. It does nothing if that was done, or if the object has changed since: the new one is
 * collected by the next run.
 */
export function createS3Mover(sdk: Sdk, client: S3Client, { settings, limits }: S3Access) {
  const { bucket, prefix = '' } = settings;
  const folders = foldersOf(settings);

  /** Null when there is no such object. */
  async function etagOf(key: string): Promise<string | null> {
    try {
      return (await client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }))).ETag ?? '';
    } catch (error) {
      if (error instanceof Error && (error.name === 'NotFound' || error.name === 'NoSuchKey')) return null;
      throw error;
    }
  }

  /** A copy of the same object that a crash left behind counts as free: copying it again changes nothing. */
  async function findFreeKey(wanted: string, etag: string): Promise<string> {
    for (let n = 1; ; n += 1) {
      const key = numberedName(wanted, n);
      const found = await etagOf(key);
      if (found === null || found === etag) return key;
    }
  }

  async function move(key: string, etag: string, outcome: FileOutcome): Promise<void> {
    if ((await etagOf(key)) !== etag) return;
    const to = await findFreeKey(
      `${folders[outcome.status]}${key.slice(prefix.length).replace(/^\/+/, '')}`,
      etag,
    );
    await client.send(
      new sdk.CopyObjectCommand({
        Bucket: bucket,
        Key: to,
        CopySource: `${bucket}/${key}`.split('/').map(encodeURIComponent).join('/'),
        CopySourceIfMatch: etag,
      }),
    );
    if (outcome.status === 'failed') {
      await client.send(
        new sdk.PutObjectCommand({ Bucket: bucket, Key: `${to}.error.txt`, Body: `${outcome.reason}\n` }),
      );
    }
    // Services that do not know the condition delete without it.
    await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag }));
  }

  return {
    async put({ key, etag }: { key: string; etag: string }, outcome: FileOutcome): Promise<void> {
      try {
        await move(key, etag, outcome);
      } catch (error) {
        // It has changed between two of these requests.
        if (error instanceof Error && error.name === 'PreconditionFailed') return;
        throw explainS3(error, settings, limits);
      }
    },
  };
}
