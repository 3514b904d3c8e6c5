import * as v from 'valibot';
import type { Runtime } from '../../platform/runtime.ts';
import { VERSION } from '../../platform/version.ts';
import { createRoute } from '../route.ts';

/** GET /healthz: 200 while the process answers. */
export const getHealthRoute = () =>
  createRoute(
    {
      tag: 'Health',
      operationId: 'getHealth',
      summary: 'Check the process',
      answer: {
        schema: v.object({ status: v.literal('ok'), version: v.string() }),
        description: 'The process answers.',
      },
    },
    (c) => c.json({ status: 'ok', version: VERSION }),
  );

const Readiness = v.object({
  status: v.picklist(['ready', 'not ready']),
  mysql: v.string(),
  redis: v.string(),
  migrations: v.string(),
});

const PROBE_TIMEOUT = 2_000;

/** Milliseconds for which an answer is kept. Anybody may ask, as often as they like. */
const KEPT_FOR = 1_000;

/** GET /readyz: 200 when MySQL, Redis and the schema are ready, otherwise 503 that names what is not ready. */
export const getReadinessRoute = ({ database, redis }: Runtime) => {
  const look = keepAnswer(KEPT_FOR, () =>
    Promise.all([
      probeServers({ database, redis }),
      probe(async () => {
        if (await database.showMigrations()) throw new Error('migrations have not been run');
      }),
    ]),
  );
  return createRoute(
    {
      tag: 'Health',
      operationId: 'getReadiness',
      summary: 'Check MySQL, Redis and the schema',
      answer: {
        schema: Readiness,
        description: 'All of them are "ok".',
        statuses: { 503: 'At least one of them is not ready.' },
      },
    },
    async (c) => {
      const [servers, migrations] = await look();
      const ready = [servers.mysql, servers.redis, migrations].every((state) => state === 'ok');
      if (!ready) c.header('Retry-After', '5');
      return c.json({ status: ready ? 'ready' : 'not ready', ...servers, migrations }, ready ? 200 : 503);
    },
  );
};

/** Asks at most once per `milliseconds`, and not again before an answer has come. Other callers get the last answer. */
function keepAnswer<T>(milliseconds: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { answer: Promise<T>; until: number } | null = null;
  return () => {
    if (last === null || performance.now() >= last.until) {
      const kept = { answer: ask(), until: Number.POSITIVE_INFINITY };
      const keep = () => {
        kept.until = performance.now() + milliseconds;
      };
      kept.answer.then(keep, keep);
      last = kept;
    }
    return last.answer;
  };
}

/** Asks MySQL and Redis. Each is `ok`, `not available`, or `does not answer` (within 2 s). */
export async function probeServers({ database, redis }: Pick<Runtime, 'database' | 'redis'>) {
  const [mysql, queue] = await Promise.all([
    probe(() => database.query('SELECT 1')),
    probe(() => redis.ping()),
  ]);
  return { mysql, redis: queue };
}

/** Hides the details of an error, because these routes are public. */
async function probe(ask: () => Promise<unknown>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('does not answer'), PROBE_TIMEOUT);
  });
  const answer = ask().then(
    () => 'ok',
    () => 'not available',
  );
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
