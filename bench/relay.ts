import { startDurableRedis } from './durable-redis.ts';
import { startProcess } from './processes.ts';

export interface Relay {
  /** Takes the same POSTs as the service. */
  url: string;
  end(): Promise<void>;
}

/** Starts the baseline of single movements: bullmq-relay.ts in two processes, on a Redis that keeps every acknowledged job. */
export async function startRelay(subscriber: { target: string; secret: string }): Promise<Relay> {
  const redis = await startDurableRedis();
  const processes = ['producer', 'worker'].map((role) => startProcess('./bullmq-relay.js', { args: [role] }));
  const ready = processes.map((it) => it.receive<{ port: number }>());
  for (const it of processes) it.send({ redisUrl: redis.url, ...subscriber });
  const [producer] = await Promise.all(ready);
  return {
    url: `http://127.0.0.1:${producer?.port}`,
    async end() {
      await Promise.all(processes.map((it) => it.end()));
      await redis.end();
    },
  };
}
