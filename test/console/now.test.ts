import { describe, expect, it } from 'vitest';
import { startOps } from '../../src/console/server.ts';
import { useOwnService } from '../support/service.ts';

/** No process with the role api runs here. */
const nowhere = () => undefined;

const service = useOwnService({ because: 'the page shows all customers', roles: ['api'] });

/** Reads events until there are `count` of them. */
async function readEvents(url: string, count: number) {
  const { body } = await fetch(`${url}/ops/now`);
  if (body === null) throw new Error('no stream');
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (text.split('\n\n').length <= count) {
    const { value, done } = await reader.read();
    if (done) throw new Error('the stream has ended');
    text += value;
  }
  const events = text.split('\n\n').slice(0, count);
  return { reader, events: events.map((it) => JSON.parse(it.replace(/^data: /, ''))) };
}

describe('the page Now', () => {
  it('says in large letters that no process has a role', async () => {
    const { body } = await service.callOps('GET', '/ops');
    expect(body).toMatch(
      /<section class="headline stopped"><h1>Not well: No process runs the role importer\. No process runs the role delivery\./,
    );
    expect(body).toContain('0 imports waiting. Start one.');
    expect(body).toContain('What Redis forgets is not queued again. Start one.');
  });

  it('is kept up to date with events: first the history, then each new sample', async () => {
    const { reader, events } = await readEvents(service.opsUrl, 2);
    await reader.cancel();
    const [first, second] = events;
    expect(first.history.length).toBeGreaterThan(0);
    expect(first.headline).toContain('No process runs the role delivery.');
    expect(first.severity).toBe('stopped');
    expect(second.sample).toMatchObject({
      pending: 0,
      deliveriesPerSecond: 0,
      importsPerSecond: 0,
      successShare: null,
    });
    expect(second.history).toBeUndefined();
  });

  it('ends its events when the listener stops, so that the stop does not wait for them', async () => {
    const { runtime } = service;
    const ops = await startOps({ ...runtime, config: { ...runtime.config, opsPort: 0 } }, nowhere);
    const { reader } = await readEvents(ops.url, 1);
    await ops.stop();
    for (;;) if ((await reader.read()).done) break;
  });
});
