import type { S3Client } from '@aws-sdk/client-s3';
import { type FileOutcome, notFoundAgain, type PutAwayFile, type PutBack } from './connector.ts';
import { numberedName } from './file-names.ts';
import { explainS3, type S3Access, type Sdk } from './s3-client.ts';
import { foldersOf } from './settings.ts';

/** Moves objects within a bucket: to `done/` or `failed/` after their import, and back. S3 cannot rename objects, so they are copied and then deleted. */

interface Stored {
  key: string;
  etag: string;
}

export function createMover(sdk: Sdk, client: S3Client, { settings, limits }: S3Access) {
  const { bucket, prefix = '' } = settings;
  const folders = foldersOf(settings);

  /** null when there is no such object. */
  async function etagOf(key: string): Promise<string | null> {
    try {
      return (await client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }))).ETag ?? '';
    } catch (error) {
      if (error instanceof Error && (error.name === 'NotFound' || error.name === 'NoSuchKey')) return null;
      throw error;
    }
  }

  /** A key with a copy of the same object, left behind by a crash, counts as free, because copying again changes nothing. */
  async function findFreeKey(wanted: string, etag: string): Promise<string> {
    for (let n = 1; ; n += 1) {
      const key = numberedName(wanted, n);
      const found = await etagOf(key);
      if (found === null || found === etag) return key;
    }
  }

  const copy = ({ key, etag }: Stored, to: string) =>
    client.send(
      new sdk.CopyObjectCommand({
        Bucket: bucket,
        Key: to,
        CopySource: `${bucket}/${key}`.split('/').map(encodeURIComponent).join('/'),
        CopySourceIfMatch: etag,
      }),
    );

  /** Services that do not know IfMatch delete the object unconditionally. */
  const remove = ({ key, etag }: Stored) =>
    client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag }));

  /** @returns null when the object has changed between two requests. */
  async function unlessChanged<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Error && error.name === 'PreconditionFailed') return null;
      throw explainS3(error, settings, limits);
    }
  }

  const keyIn = (status: FileOutcome['status'], key: string) =>
    `${folders[status]}${key.slice(prefix.length).replace(/^\/+/, '')}`;

  return {
    /**
     * Moves a collected object to `done/` or `failed/`. Does nothing if the object was moved before, or has changed since. The next run
     * collects the changed object.
     * @returns the new key; null: it is not known.
     */
    putAway: (object: Stored, outcome: FileOutcome): Promise<string | null> =>
      unlessChanged(async () => {
        if ((await etagOf(object.key)) !== object.etag) return null;
        const to = await findFreeKey(keyIn(outcome.status, object.key), object.etag);
        await copy(object, to);
        if (outcome.status === 'failed') {
          await client.send(
            new sdk.PutObjectCommand({ Bucket: bucket, Key: `${to}.error.txt`, Body: `${outcome.reason}\n` }),
          );
        }
        await remove(object);
        return to;
      }),
    /** Moves an object that was put away back to its old key, or to a free one beside it. */
    async putBack({ name, version, place }: PutAwayFile): Promise<PutBack> {
      const places = place === null ? [keyIn('done', name), keyIn('failed', name)] : [place];
      const isBack = await unlessChanged(async () => {
        for (const key of places) {
          if ((await etagOf(key)) !== version) continue;
          const object = { key, etag: version };
          await copy(object, await findFreeKey(name, version));
          await remove(object);
          return true;
        }
        return (await etagOf(name)) === version;
      });
      return isBack === true ? 'put back' : notFoundAgain(places);
    },
  };
}
