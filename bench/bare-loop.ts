import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';

/**
 * The baseline, a process of its own: signs and posts bodies to one receiver, as fast as one process can with undici,
 * and stores nothing. Message from the parent: { url, bodies, count, inFlight, secret }; to the parent: { seconds }.
 */
interface Task {
  url: string;
  bodies: string[];
  count: number;
  inFlight: number;
  secret: string;
}

process.on('message', async ({ url, bodies, count, inFlight, secret }: Task) => {
  const dispatcher = new Agent({ connections: inFlight });
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  let next = 0;
  const lane = async () => {
    for (;;) {
      const index = next;
      next += 1;
      if (index >= count) return;
      const body = bodies[index % bodies.length] ?? '';
      const id = `msg_${index}`;
      const timestamp = Math.floor(Date.now() / 1_000);
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      const answer = await request(url, {
        method: 'POST',
        dispatcher,
        body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': `v1,${signature}`,
        },
      });
      await answer.body.dump();
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (performance.now() - started) / 1_000;
  await dispatcher.close();
  process.send?.({ seconds });
});
