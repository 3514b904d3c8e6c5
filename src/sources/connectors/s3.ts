import type { S3Client } from '@aws-sdk/client-s3';
import { TIME_LIMITS, type TimeLimits } from './connection-errors.ts';
import { type Connector, type FileOutcome, type OfferedFile, SourceError } from './connector.ts';
import { isUnfinished, matchesPattern, numberedName } from './file-names.ts';
import { createS3Client, explainS3, loadSdk, type S3Access, type Sdk } from './s3-client.ts';
import { readObject } from './s3-object.ts';
import { endpointOf, foldersOf } from './settings.ts';

/** Collects files from a bucket of AWS S3, or of another service with the same interface. */

/** An object is complete as soon as it is listed, so it need not be moved before it is read. */
export function createS3Connector({
  limits = TIME_LIMITS,
  ...source
}: Omit<S3Access, 'limits'> & { limits?: TimeLimits }): Connector {
  const { settings } = source;
  const access: S3Access = { ...source, limits };
  let opened: Promise<{ sdk: Sdk; client: S3Client }> | undefined;

  function open() {
    opened ??= loadSdk().then((sdk) => ({ sdk, client: createS3Client(sdk, access) }));
    return opened;
  }

  async function* listObjects(signal: AbortSignal): AsyncGenerator<OfferedFile> {
    const { sdk, client } = await open();
    const folders = Object.values(foldersOf(settings));
    let token: string | undefined;
    do {
      const page = await client
        .send(
          new sdk.ListObjectsV2Command({
            Bucket: settings.bucket,
            ...(settings.prefix !== undefined && { Prefix: settings.prefix }),
            ...(token !== undefined && { ContinuationToken: token }),
          }),
          { abortSignal: signal },
        )
        .catch((error: unknown) => {
          throw signal.aborted ? signal.reason : explainS3(error, settings, limits);
        });
      for (const { Key: key = '', ETag: etag = '', Size: size = 0 } of page.Contents ?? []) {
        const name = key.slice(key.lastIndexOf('/') + 1);
        if (settings.after === 'move' && folders.some((folder) => key.startsWith(folder))) continue;
        // A key that ends with "/" stands for an empty folder.
        if (name === '' || isUnfinished(name) || !matchesPattern(name, settings.pattern)) continue;
        yield {
          name: key,
          version: etag,
          format: 'auto',
          open: (ended) => readObject(sdk, client, access, { key, etag, size }, ended),
        };
      }
      const next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      if (page.IsTruncated === true && (next === undefined || next === token)) {
        throw new SourceError(
          `${endpointOf(settings).host} does not say how to continue the list of the bucket "${settings.bucket}".`,
        );
      }
      token = next;
    } while (token !== undefined);
  }

  const connector: Connector = {
    files: (_since, signal) => listObjects(signal),
    async close() {
      const { client } = (await opened?.catch(() => undefined)) ?? {};
      client?.destroy();
    },
  };
  if (settings.after === 'leave') return connector;
  return {
    ...connector,
    async mark({ name, version }, outcome) {
      await moveObject(await open(), access, { key: name, etag: version }, outcome);
      // An object never grows. One that is written again at its old key is another version, which the next list shows.
      return null;
    },
  };
}

/**
 * Moves a collected object to `done/` or `failed/`. S3 cannot rename objects, so it is copied and then deleted. Does nothing if the object
 * was moved before, or has changed since. The next run collects the changed object.
 */
async function moveObject(
  { sdk, client }: { sdk: Sdk; client: S3Client },
  { settings, limits }: S3Access,
  { key, etag }: { key: string; etag: string },
  outcome: FileOutcome,
): Promise<void> {
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
  async function findFreeKey(wanted: string): Promise<string> {
    for (let n = 1; ; n += 1) {
      const key = numberedName(wanted, n);
      const found = await etagOf(key);
      if (found === null || found === etag) return key;
    }
  }

  try {
    if ((await etagOf(key)) !== etag) return;
    const to = await findFreeKey(`${folders[outcome.status]}${key.slice(prefix.length).replace(/^\/+/, '')}`);
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
    // Services that do not know IfMatch delete the object unconditionally.
    await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag }));
  } catch (error) {
    // The object has changed between two of these requests.
    if (error instanceof Error && error.name === 'PreconditionFailed') return;
    throw explainS3(error, settings, limits);
  }
}
