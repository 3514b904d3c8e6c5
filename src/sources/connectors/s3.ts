import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { pipeline, Readable, Transform } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { S3Client } from '@aws-sdk/client-s3';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { watchTls } from '../../platform/connector.ts';
import {
  brokenOffError,
  type Connector,
  connectTimeoutError,
  FileError,
  type FileOutcome,
  idleError,
  isUnfinished,
  matchesPattern,
  numberedName,
  type OfferedFile,
  SourceError,
  TIME_LIMITS,
  type TimeLimits,
  toSourceError,
} from './connector.ts';
import { endpointOf, foldersOf, type S3Credentials, type S3Settings } from './settings.ts';

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

/** Moves collected objects to `done/` or `failed/`. S3 cannot rename objects, so they are copied and then deleted. */

/**
 * Moves a collected object. Does nothing if the object was moved before, or has changed since. The next run collects the changed object.
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

/** The AWS SDK's client for one bucket, with connections that go through the address guard. */

export interface S3Access {
  settings: S3Settings;
  credentials: S3Credentials;
  guard: AddressGuard;
  limits: TimeLimits;
}

/** Loaded only when needed, because loading the SDK takes a third of a second. */
export const loadSdk = () => import('@aws-sdk/client-s3');
export type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** Connects so that errors of TLS can be explained. */
class WatchedAgent extends HttpsAgent {
  override createConnection(...args: Parameters<HttpsAgent['createConnection']>) {
    const socket = super.createConnection(...args);
    if (socket instanceof TLSSocket) watchTls(socket);
    return socket;
  }
}

/** @throws {SourceError} when the address of the endpoint is refused. */
export function createS3Client(sdk: Sdk, { settings, credentials, guard, limits }: S3Access): S3Client {
  const endpoint = endpointOf(settings);
  const { host } = endpoint;
  // Node does not look up a literal address, so the guard checks the URL first.
  const refusal = guard.checkUrl(endpoint);
  if (refusal !== null) throw new SourceError(refusal);
  const agent = { keepAlive: true, lookup: guard.lookup };
  const client = new sdk.S3Client({
    // Always set, so that neither this machine's environment nor ~/.aws decides where the secret is sent.
    endpoint: endpoint.href,
    region: settings.region,
    credentials: { accessKeyId: credentials.access_key_id, secretAccessKey: credentials.secret_access_key },
    forcePathStyle: settings.path_style ?? settings.endpoint !== undefined,
    requestHandler: {
      httpAgent: new HttpAgent(agent),
      httpsAgent: new WatchedAgent(agent),
      connectionTimeout: limits.connect,
      // The time until the headers of the answer arrive. readWithLimit limits the body.
      requestTimeout: limits.connect + limits.idle,
      throwOnRequestTimeout: true,
    },
    // Services other than AWS do not know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
  });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as { statusCode: number; body: unknown };
        const isObject = commandName === 'GetObjectCommand' && response.statusCode < 300;
        if (!isObject && response.body instanceof Readable) response.body = limitAnswer(response.body, host);
        return result;
      },
    { step: 'deserialize', priority: 'low', name: 'limitAnswer' },
  );
  return client;
}

const MIB = 1024 * 1024;
/** The SDK reads every answer except objects as a whole. A page of a listing has 1,000 keys of at most 1,024 bytes, which XML may escape. */
const MAX_ANSWER_BYTES = 8 * MIB;

/** @returns the answer, which ends with a SourceError when it is longer than 8 MiB. */
function limitAnswer(answer: Readable, host: string): Readable {
  let bytes = 0;
  const limited = new Transform({
    transform(part: Buffer, _encoding, done) {
      bytes += part.length;
      if (bytes <= MAX_ANSWER_BYTES) return done(null, part);
      done(
        new SourceError(
          `${host} sends more than ${MAX_ANSWER_BYTES / MIB} MiB where a list or an error belongs.`,
        ),
      );
    },
  });
  pipeline(answer, limited, () => {});
  return limited;
}

/** Explains an error of the SDK to the owner of the source in one sentence. */
export function explainS3(error: unknown, settings: S3Settings, limits: TimeLimits): unknown {
  const { bucket, region } = settings;
  const host = endpointOf(settings).host;
  if (!(error instanceof Error)) return error;
  switch (error.name) {
    case 'InvalidAccessKeyId':
      return new SourceError(`${host} does not know the access key. Check "access_key_id".`);
    case 'SignatureDoesNotMatch':
      return new SourceError(`${host} refuses the signature. Check "secret_access_key".`);
    case 'AccessDenied':
    case 'AllAccessDisabled':
    case 'AccountProblem':
      return new SourceError(
        `${host} does not allow access to the bucket "${bucket}". The key needs the right to list and read it, and with "after": "move" to write and delete in it.`,
      );
    case 'NoSuchBucket':
      return new SourceError(`There is no bucket "${bucket}" at ${host}. Check "bucket" and "region".`);
    case 'PermanentRedirect':
    case 'IllegalLocationConstraintException':
    case 'AuthorizationHeaderMalformed':
      return new SourceError(`The bucket "${bucket}" is not in the region ${region}. Check "region".`);
    case 'RequestTimeTooSkewed':
      return new SourceError(`${host} says that the clock of this server is wrong. Tell its operator.`);
    case 'SlowDown':
    case 'ServiceUnavailable':
      return new SourceError(`${host} asks to come back later. The next run tries again.`);
    case 'TimeoutError':
      return connectTimeoutError(host, limits);
    default:
      return explainOther(error, host, limits);
  }
}

function explainOther(
  error: Error & { $metadata?: { httpStatusCode?: number } },
  host: string,
  limits: TimeLimits,
): unknown {
  const known = toSourceError(error, host, limits);
  const status = error.$metadata?.httpStatusCode;
  if (known !== error || status === undefined) return known;
  if (status === 403) return new SourceError(`${host} does not allow access (403). Check the credentials.`);
  if (status >= 500)
    return new SourceError(`${host} answered with status ${status}. The next run tries again.`);
  return new SourceError(
    `${host} did not answer as an S3 service does (status ${status}). Check "endpoint" and "bucket".`,
  );
}

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
