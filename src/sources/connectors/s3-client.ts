import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { pipeline, Readable, Transform } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { S3Client } from '@aws-sdk/client-s3';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { watchTls } from '../../platform/tls-errors.ts';
import { connectTimeoutError, type TimeLimits, toSourceError } from './connection-errors.ts';
import { SourceError } from './connector.ts';
import { endpointOf, type S3Credentials, type S3Settings } from './settings.ts';

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
