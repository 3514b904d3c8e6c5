import { createPoster } from '../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { createHttpClient } from '../../src/sources/connectors/http-get.ts';
import { createS3Client, explainS3, loadSdk } from '../../src/sources/connectors/s3-client.ts';

/**
 * Connects as Ledgerbell does, in a process of its own, because Node reads NODE_EXTRA_CA_CERTS only when it starts. Arguments: "post",
 * "http" or "s3", and origins. Prints the errors as a JSON list.
 */
const [kind = '', ...origins] = process.argv.slice(2);
const guard = createAddressGuard({ allow: ['127.0.0.0/8'] });
const limits = { connect: 5_000, idle: 5_000 };
const messageOf = (error: unknown) => (error as Error).message;

async function post(origin: string): Promise<string | null> {
  const poster = createPoster({ guard });
  const { error } = await poster.post({ origin, path: '/', headers: {}, body: '{}' });
  await poster.close();
  return error;
}

async function get(origin: string): Promise<string> {
  const client = createHttpClient({ origin, credentials: {}, guard, limits });
  const { signal } = new AbortController();
  const message = await client.get(new URL(origin), {}, signal).then(() => 'no error', messageOf);
  await client.close();
  return message;
}

async function list(origin: string): Promise<string> {
  const sdk = await loadSdk();
  const settings = { endpoint: origin, region: 'us-east-1', bucket: 'b' };
  const credentials = { access_key_id: 'a', secret_access_key: 's' };
  const access = { settings, credentials, guard, limits } as unknown as Parameters<typeof createS3Client>[1];
  const client = createS3Client(sdk, access);
  const asked = client.send(new sdk.ListObjectsV2Command({ Bucket: 'b' }));
  return asked.then(
    () => 'no error',
    (error: unknown) => messageOf(explainS3(error, access.settings, limits)),
  );
}

const connect = kind === 's3' ? list : kind === 'http' ? get : post;
process.stdout.write(JSON.stringify(await Promise.all(origins.map(connect))));
process.exit(0);
