import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { keepAnswer, mysqlWords, PATIENCE, within } from '../database/health.ts';
import type { Runtime } from '../database/runtime.ts';
import { VERSION } from '../platform/config.ts';
import { withExample } from '../platform/validation.ts';
import { openHandlers } from './routes/route.ts';

/** The routes by which a load balancer learns whether a process answers and is ready. */

/** GET /healthz: 200 while the process answers. */
export const getHealthRoute = () =>
  openHandlers({
    tag: 'Health',
    operationId: 'getHealth',
    summary: 'Check the process',
    answer: {
      schema: v.object({ status: v.literal('ok'), version: v.string() }),
      description: 'The process answers.',
    },
    handle: (c) => c.json({ status: 'ok', version: VERSION }),
  });

const Readiness = withExample(
  v.object({
    status: v.picklist(['ready', 'not ready']),
    mysql: v.string(),
    redis: v.string(),
    migrations: v.string(),
  }),
  { status: 'not ready', mysql: 'does not answer', redis: 'ok', migrations: 'ok' },
);

/** Milliseconds for which an answer is kept. Anybody may ask, as often as they like. */
const KEPT_FOR = 1_000;

/**
 * GET /readyz: 200 when MySQL and Redis answer and take writes, and the schema is ready. Otherwise 503 that says what is wrong. A MySQL that
 * refuses only large imports is named with 200: no process could do better, and a load balancer should go on sending requests.
 */
export const getReadinessRoute = ({ database, health }: Runtime) => {
  const look = keepAnswer(KEPT_FOR, async () => {
    const [seen, migrations] = await Promise.all([
      health(),
      within(lookAtSchema(database), PATIENCE, () => 'does not answer'),
    ]);
    const { mysql, redis } = seen;
    const ready = [mysql, redis, migrations].every((it) => it === 'ok');
    return { ready, mysql: mysqlWords(seen), redis, migrations };
  });
  return openHandlers({
    tag: 'Health',
    operationId: 'getReadiness',
    summary: 'Check MySQL, Redis and the schema',
    answer: {
      schema: Readiness,
      description:
        'The service takes requests. Each is "ok", or mysql says which setting of it refuses large imports.',
      statuses: { 503: 'At least one of them is not ready.' },
    },
    handle: async (c) => {
      const { ready, ...state } = await look();
      if (!ready) c.header('Retry-After', '5');
      return c.json({ status: ready ? 'ready' : 'not ready', ...state }, ready ? 200 : 503);
    },
  });
};

const lookAtSchema = (database: DataSource): Promise<string> =>
  database.showMigrations().then(
    (missing) => (missing ? 'not available' : 'ok'),
    () => 'not available',
  );
