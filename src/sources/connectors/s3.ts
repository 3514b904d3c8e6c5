import type { S3Client } from '@aws-sdk/client-s3';
import { TIME_LIMITS, type TimeLimits } from './connection-errors.ts';
import { type Connector, type OfferedFile, SourceError } from './connector.ts';
import { isUnfinished, matchesPattern } from './file-names.ts';
import { createS3Client, explainS3, loadSdk, type S3Access, type Sdk } from './s3-client.ts';
import { createMover } from './s3-mover.ts';
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
      const { sdk, client } = await open();
      return await createMover(sdk, client, access).putAway({ key: name, etag: version }, outcome);
    },
    async putBack(file) {
      const { sdk, client } = await open();
      return await createMover(sdk, client, access).putBack(file);
    },
  };
}
