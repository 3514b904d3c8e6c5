import { useDatabase } from '../../support/database.ts';
import { describeReceiver } from './contract.ts';
import { readFiles } from './page.ts';
import type { Environment, Project } from './project.ts';

const { database, url } = useDatabase({ migrated: false });

/** The environment of a program whose inbox is empty. */
async function withDatabase(env: Environment): Promise<Environment> {
  await database.query('DROP TABLE IF EXISTS inbox');
  return { ...env, INBOX_DATABASE_URL: url };
}

async function breakInbox() {
  await database.query('RENAME TABLE inbox TO away');
  return () => database.query('RENAME TABLE away TO inbox');
}

for (const page of ['express.md', 'hono.md', 'fastify.md']) {
  describeReceiver({
    page,
    start: async (project, env) => project.start(process.execPath, ['receiver.mjs'], await withDatabase(env)),
    breakInbox,
  });
}

/** Calls a route handler as Next.js does, as far as a handler can tell. */
const SERVER = `
import { serve } from '@hono/node-server';
import { POST } from './app/webhooks/route.ts';
serve({ fetch: POST, port: Number(process.env.PORT), hostname: '127.0.0.1' });
await import('./worker.mjs');
`;

async function startRoute(project: Project, env: Environment) {
  const environment = await withDatabase(env);
  await database.query(readFiles('nextjs.md').get('inbox.sql') ?? '');
  await project.write('server.mjs', SERVER);
  return project.start(process.execPath, ['--import', 'tsx', 'server.mjs'], environment);
}

describeReceiver({ page: 'nextjs.md', start: startRoute, breakInbox });
