import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPoster } from '../../../src/delivery/posting/post.ts';
import type { PostRequest } from '../../../src/delivery/posting/types.ts';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { createVectors } from '../../sdk/vectors.ts';
import { until } from '../../support/until.ts';
import { createSigningWebhook } from './deliveries.ts';
import { findMissing } from './language.ts';
import { createProject, type Environment, type Project, type Started } from './project.ts';

type Encoding = 'json' | 'form';

/** The promises of a page for its receiver. */
interface Receiver {
  page: string;
  /** By default, the page's program is run as it is, and with the changes for form encoding. */
  encodings?: readonly Encoding[];
  /** The program needs no change for form encoding. */
  readsBoth?: boolean;
  path?: string;
  /** Gets the packages of another language, as the page says. When this fails, the tests are left out. */
  install?(project: Project): Promise<unknown>;
  /** Starts the page's program, as the page says. `env` holds WEBHOOK_SECRET. */
  start(project: Project, env: Environment): Promise<Started>;
  /** Makes storing fail. @returns what makes it work again. */
  breakInbox?(): Promise<() => Promise<unknown>>;
}

/** Preparing may download and compile. Milliseconds. */
const PREPARING = 600_000;

/**
 * Runs the program of a page, and sends it deliveries that the service has built and signed. The program answers
 * at `path`, and prints `<webhook-id> <dc> <amount> <currency>` for each movement and each withdrawal that it processes.
 */
export function describeReceiver(receiver: Receiver): void {
  const { page, encodings = ['json', 'form'] } = receiver;
  for (const encoding of encodings)
    describe(`the program of ${page} for ${encoding}`, () => checkReceiver(receiver, encoding));
}

function checkReceiver(
  { page, path = '/webhooks', readsBoth = false, install, start, breakInbox }: Receiver,
  encoding: Encoding,
): void {
  const webhook = createSigningWebhook({ encoding });
  const poster = createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'] }) });
  let project: Project;
  let receiver: Started;
  let missing: string | null = null;
  beforeAll(async () => {
    project = await createProject(page, { form: encoding === 'form' && !readsBoth });
    missing = await findMissing(page, () => install?.(project));
    if (missing === null) receiver = await start(project, { WEBHOOK_SECRET: webhook.secret });
  }, PREPARING);
  beforeEach(({ skip }) => skip(missing !== null, missing ?? ''));
  afterAll(async () => {
    await poster.close();
    await project?.remove();
  });

  const post = async (request: PostRequest) => {
    const answer = await poster.post({ ...request, origin: receiver.origin, path });
    return answer.status ?? answer.error;
  };
  const send = async (request: PostRequest) => {
    const status = await post(request);
    // The receiver's output tells why.
    if (typeof status !== 'number' || status >= 500) throw new Error(`${status}: ${receiver.said}`);
    return status;
  };
  const withHeaders = (id: string, headers: Record<string, string>) => {
    const request = webhook.request(id);
    return { ...request, headers: { ...request.headers, ...headers } };
  };
  const processed = (id: string) =>
    receiver.said.split('\n').filter((line) => line === `msg_${id} Credit 1250.00 TRY`).length;
  /** Deliveries are processed in the order of their arrival: what came before this one has been processed, or never will be. */
  const processAll = async (id: string) => {
    expect(await send(webhook.request(id))).toBe(204);
    await until(`msg_${id} is processed: ${receiver.said}`, () => processed(id) > 0);
  };

  it('stores a delivery, answers 204 and processes it', async () => {
    await processAll('3-1');
  });

  it('answers 204 to a repeated delivery, and does not process it again', async () => {
    expect(await send(webhook.request('3-2', 60))).toBe(204);
    expect(await send(webhook.request('3-2'))).toBe(204);
    await processAll('3-3');
    expect(await send(webhook.request('3-2'))).toBe(204);
    await processAll('3-4');
    expect(processed('3-2')).toBe(1);
  });

  it('has the movements that the listing shows, in whatever order withdrawals come', async () => {
    for (const id of ['3-30', '3-31-withdrawn', '3-32-withdrawn', '3-31', '3-33'])
      expect(await send(webhook.request(id))).toBe(204);
    await processAll('3-34');
    for (const id of ['3-30-withdrawn', '3-31', '3-31-withdrawn', '3-34-withdrawn', '3-30'])
      expect(await send(webhook.request(id))).toBe(204);
    await processAll('3-35');
    const books = new Set<string>();
    for (const [, id = '', withdrawn] of receiver.said.matchAll(/^msg_(3-3\d)(-withdrawn)? Credit/gm)) {
      if (withdrawn === undefined) books.add(id);
      else books.delete(id);
    }
    expect([...books]).toEqual(['3-33', '3-35']);
    for (const id of ['3-30', '3-34']) expect(processed(`${id}-withdrawn`), id).toBe(1);
  });

  it('accepts either secret after a rotation', async () => {
    const rotated = createSigningWebhook({ encoding, previous: webhook.secret });
    expect(await send(rotated.request('3-5'))).toBe(204);
    await until('it is processed', () => processed('3-5') === 1);
  });

  it('answers a test notification, and does not process it', async () => {
    expect(await send(webhook.request('test_Ab-_09'))).toBe(204);
    await processAll('3-6');
    expect(receiver.said).not.toContain('test_Ab-_09 Credit');
  });

  it('accepts and refuses signatures as the shared vectors say', async () => {
    const now = Math.floor(Date.now() / 1_000);
    const vectors = createVectors({ now, secret: webhook.secret })[`signatures-${encoding}`] ?? [];
    const sendable = vectors.filter(
      ({ name, secrets, expected }) =>
        String(secrets) === webhook.secret &&
        // Their age changes until they are received.
        !/^30[01] s/.test(name) &&
        // Some libraries read the number before the text.
        (expected.ok || expected.reason !== 'malformed-header'),
    );
    expect(sendable.length).toBeGreaterThan(10);
    for (const { name, headers, body, expected } of sendable) {
      const status = await send({ ...webhook.request('17-1'), headers, body });
      expect(status, name).toSatisfy((it: number) => (expected.ok ? it < 300 : it >= 400));
    }
  });

  // Forms are never sent in batches.
  if (encoding === 'json') {
    it('processes each event of a batch once, also when a retry is grouped otherwise, and beside single POSTs', async () => {
      expect(await send(webhook.request('3-20'))).toBe(204);
      for (const ids of [
        ['3-20', '3-21', '3-22'],
        ['3-22', '3-23'],
        ['3-21', '3-22', '3-23'],
      ])
        expect(await send(webhook.batch(ids))).toBe(204);
      expect(await send(webhook.request('3-23'))).toBe(204);
      expect(await send(webhook.batch(['3-24']))).toBe(204);
      await processAll('3-25');
      for (const id of ['3-20', '3-21', '3-22', '3-23', '3-24']) expect(processed(id), id).toBe(1);
    });

    it('processes a batch of withdrawals, and ignores the movement that comes after its own', async () => {
      expect(await send(webhook.batch(['3-40', '3-41-withdrawn', '3-42']))).toBe(204);
      await processAll('3-43');
      expect(await send(webhook.batch(['3-41', '3-40-withdrawn']))).toBe(204);
      await processAll('3-44');
      expect(processed('3-41')).toBe(0);
      for (const id of ['3-40', '3-40-withdrawn', '3-41-withdrawn', '3-42'])
        expect(processed(id), id).toBe(1);
    });

    it('accepts a batch of 1 MiB', async () => {
      const ids = Array.from({ length: 20 }, (_, index) => `3-9${String(index).padStart(2, '0')}`);
      const room = 1_048_576 - webhook.batch(ids, '').body.length;
      expect(await send(webhook.batch(ids, 'x'.repeat(Math.floor(room / ids.length))))).toBe(204);
      await processAll('3-26');
      for (const id of ids) expect(processed(id), id).toBe(1);
    });

    it('answers 401 to a batch that is not genuine, and processes none of it', async () => {
      expect(await send(replaceInBody(webhook.batch(['3-68', '3-69']), '1250', '9250'))).toBe(401);
      await processAll('3-27');
      expect(receiver.said).not.toMatch(/msg_3-6[89] Credit/);
    });
  }

  if (breakInbox !== undefined) {
    it('answers 500 when it cannot store, and goes on afterwards', async () => {
      const repair = await breakInbox();
      expect(await post(webhook.request('3-8'))).toBe(500);
      await repair();
      await processAll('3-8');
    });
  }

  it('answers 401 to notifications that are not genuine, and processes none of them', async () => {
    const forged: Record<string, PostRequest> = {
      'a changed body': replaceInBody(webhook.request('3-66'), '1250', '9250'),
      'a changed id': withHeaders('3-66', { 'webhook-id': 'msg_3-67' }),
      'more than five minutes old': webhook.request('3-66', 302),
      'more than five minutes in the future': webhook.request('3-66', -305),
      'another secret': createSigningWebhook({ encoding }).request('3-66'),
      'a malformed signature': withHeaders('3-66', { 'webhook-signature': 'v1' }),
      'a signature that is not base64': withHeaders('3-66', { 'webhook-signature': 'v1,%%%' }),
      'a timestamp that is no number': withHeaders('3-66', { 'webhook-timestamp': 'now' }),
      'no signature': withHeaders('3-66', { 'webhook-signature': '' }),
    };
    for (const [what, request] of Object.entries(forged)) expect(await send(request), what).toBe(401);
    await processAll('3-7');
    expect(receiver.said).not.toMatch(/msg_3-6[67] Credit/);
  });
}

function replaceInBody(request: PostRequest, from: string, to: string): PostRequest {
  expect(request.body).toContain(from);
  return { ...request, body: request.body.replace(from, to) };
}
