import { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { brokenOffError, idleError, toSourceError } from './connection-errors.ts';
import { FileError, SourceError } from './connector.ts';
import { explainS3, type S3Access, type Sdk } from './s3-client.ts';
import { endpointOf } from './settings.ts';

/** Reads an object in constant memory, and checks that it is complete. */

interface Listed {
  key: string;
  etag: string;
  size: number;
}

/**
 * Yields the bytes of the listed version of the object.
 * @throws {SourceError}
 */
export async function* readObject(
  sdk: Sdk,
  client: S3Client,
  { settings, limits }: S3Access,
  { key, etag, size }: Listed,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const answer = await client
    .send(
      new sdk.GetObjectCommand({ Bucket: settings.bucket, Key: key, ...(etag !== '' && { IfMatch: etag }) }),
      {
        abortSignal: signal,
      },
    )
    .catch((error: unknown) => {
      throw signal.aborted
        ? signal.reason
        : (explainObject(error, key) ?? explainS3(error, settings, limits));
    });
  if (!(answer.Body instanceof Readable)) throw new SourceError(`"${key}" has no content.`);
  if (answer.ETag !== undefined && etag !== '' && answer.ETag !== etag) {
    answer.Body.destroy();
    throw changed(key);
  }
  const { host } = endpointOf(settings);
  let bytes = 0;
  try {
    for await (const part of readWithLimit(answer.Body, limits.idle, idleError(host, limits), signal)) {
      bytes += part.length;
      yield part;
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : toSourceError(error, host, limits);
  }
  if (bytes !== (answer.ContentLength ?? size)) throw brokenOffError(host);
}

/** Yields the parts of a body. The time limit runs while the next part is awaited, but not while a slow import handles the last part. */
async function* readWithLimit(
  body: Readable,
  idle: number,
  tooSlow: Error,
  ended: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const startTimer = () => setTimeout(() => body.destroy(tooSlow), idle);
  const end = () => body.destroy(ended.reason);
  ended.addEventListener('abort', end, { once: true });
  let timer = startTimer();
  try {
    for await (const part of body) {
      clearTimeout(timer);
      yield part;
      timer = startTimer();
    }
  } finally {
    clearTimeout(timer);
    ended.removeEventListener('abort', end);
  }
}

const changed = (key: string) =>
  new FileError(`"${key}" changed while it was being read. The next run reads it again.`);

/** Explains an error that concerns only this object. */
function explainObject(error: unknown, key: string): SourceError | null {
  switch (error instanceof Error ? error.name : '') {
    case 'NoSuchKey':
    case 'NotFound':
      return new FileError(`"${key}" was removed before it was read.`);
    case 'PreconditionFailed':
      return changed(key);
    case 'InvalidObjectState':
      return new FileError(`"${key}" is archived, and has to be restored before it can be read.`);
    case 'AccessDenied':
      return new FileError(`The access key may not read "${key}". Give it the right s3:GetObject.`);
    default:
      return null;
  }
}
