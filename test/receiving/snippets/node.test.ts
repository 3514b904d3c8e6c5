import { useDatabase } from '../../support/database.ts';
import { describeReceiver } from './contract.ts';
import { readFiles } from './page.ts';
import type { Environment, Project } from './project.ts';

const databases = [
  useDatabase({ migrated: false }),
  useDatabase({ migrated: false }),
  useDatabase({ migrated: false }),
  useDatabase({ migrated: false }),
];
const withDatabase = (env: Environment, index: number) => ({
  ...env,
  DATABASE_URL: databases[index]?.url ?? '',
});

for (const [index, page] of ['express', 'hono', 'fastify'].entries()) {
  describeReceiver(page, {
    page: `${page}.md`,
    start: (project, env) => project.start('node', ['receiver.mjs'], withDatabase(env, index)),
  });
}

/** What Next.js does with a route handler, as far as a handler can tell. */
const SERVER = `
import { serve } from '@hono/node-server';
import { POST } from './app/webhooks/route.ts';
serve({ fetch: POST, port: Number(process.env.PORT), hostname: '127.0.0.1' });
await import('./worker.mjs');
`;

async function startRoute(project: Project, env: Environment) {
  await databases[3]?.database.query(readFiles('nextjs.md').get('inbox.sql') ?? '');
  await project.write('server.mjs', SERVER);
  return project.start('node', ['--import', 'tsx', 'server.mjs'], withDatabase(env, 3));
}

describeReceiver('next.js', { page: 'nextjs.md', start: startRoute });
