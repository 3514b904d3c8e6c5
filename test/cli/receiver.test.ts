import { describe, expect, it, onTestFinished } from 'vitest';
import { type Received, type Reply, startReceiver } from '../../src/cli/receiver.ts';

async function receiver(reply: Reply) {
  const received: Received[] = [];
  const started = await startReceiver({ port: 0, host: '127.0.0.1' }, (it) => {
    received.push(it);
    return reply;
  });
  onTestFinished(started.close);
  return { ...started, received };
}

const post = (url: string, body: string) => fetch(url, { method: 'POST', body });

describe('the receiver of ledgerbell listen', () => {
  it('hands on path, headers and the exact bytes of a POST, and answers with the given status', async () => {
    const { url, received } = await receiver(202);
    const { status } = await post(`${url}hook?a=1`, 'ğüş');
    expect(status).toBe(202);
    expect(received).toMatchObject([{ path: '/hook?a=1', headers: { 'content-length': '6' } }]);
    expect(received[0]?.body).toEqual(Buffer.from('ğüş'));
  });

  it('closes the connection without an answer when told to drop', async () => {
    const { url, received } = await receiver('drop');
    await expect(post(url, '{}')).rejects.toThrow('fetch failed');
    expect(received).toHaveLength(1);
  });

  it('accepts POST only', async () => {
    const { url, received } = await receiver(204);
    const answer = await fetch(url);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
    expect(received).toEqual([]);
  });

  it('refuses a body of more than 1 MiB', async () => {
    const { url, received } = await receiver(204);
    expect((await post(url, 'x'.repeat(1024 * 1024))).status).toBe(204);
    const tooLarge = await post(url, 'x'.repeat(1024 * 1024 + 1)).catch(() => null);
    expect(tooLarge?.status ?? 413).toBe(413);
    expect(received).toHaveLength(1);
  });

  it('says which port is taken', async () => {
    const { url } = await receiver(204);
    const port = Number(new URL(url).port);
    await expect(startReceiver({ port, host: '127.0.0.1' }, () => 204)).rejects.toThrow(
      `Port ${port} of 127.0.0.1 is taken by another program: choose another one.`,
    );
  });
});
