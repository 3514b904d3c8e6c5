import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStream } from '../../support/event-stream.ts';
import { countsOf, createFeed, idsOf } from '../../support/feeds.ts';
import { findProgram, INSTALL_TIMEOUT } from '../../support/installed-program.ts';
import { type Proxy as ReverseProxy, startNginx } from '../../support/proxies.ts';
import { type Answer, useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService({ roles: ['api'] });
const isThere = await findProgram('nginx', 'nginx-light', 'Feeds behind nginx are not tested');

describe.skipIf(!isThere)('a feed behind nginx with its defaults', () => {
  let nginx: ReverseProxy;
  beforeAll(async () => {
    nginx = await startNginx(service.url, { forwards: false });
  }, INSTALL_TIMEOUT);
  afterAll(() => nginx?.close());

  it('answers a reader that waits', async () => {
    const feed = await createFeed(service);
    const read = (query: string) =>
      fetch(`${nginx.url}/v1/webhooks/${feed.id}/feed${query}`, {
        headers: { Authentication: feed.key },
      }).then(
        async (it): Promise<Answer> => ({ status: it.status, headers: it.headers, body: await it.json() }),
      );
    const waiting = read('?wait=20');
    await new Promise((resolve) => setTimeout(resolve, 300));
    await feed.store(1);
    const first = await waiting;
    expect(idsOf(first)).toHaveLength(1);
    expect(idsOf(await read(`?cursor=${first.body.cursor}&wait=1`))).toEqual([]);
    expect(await countsOf(feed)).toMatchObject({ delivered: 1 });
  });

  it('streams events as they come, with a comment after 15 s of silence, for 30 s', async () => {
    const feed = await createFeed(service);
    const unread = { method: 'HEAD', headers: { Accept: 'text/event-stream', Authentication: feed.key } };
    expect((await fetch(`${service.url}/v1/webhooks/${feed.id}/feed`, unread)).status).toBe(200);
    const stream = await openStream(`${nginx.url}/v1/webhooks/${feed.id}/feed`, { Authentication: feed.key });
    await feed.store(1);
    // nginx would keep so few bytes until the end of the stream, if it buffered.
    await until('the event', () => stream.events.length === 1);
    const took = await stream.ended;
    expect(took).toBeGreaterThan(29_000);
    expect(stream.comments.length).toBeGreaterThanOrEqual(1);
    expect(stream.comments[0]?.at).toBeGreaterThan(14_900);
    // Neither the stream nor the one that was never read is counted any more.
    const metric = service.runtime.metrics.registry.getSingleMetric('ledgerbell_feed_readers');
    await until('no reader is left', async () => (await metric?.get())?.values[0]?.value === 0);
  });
});
