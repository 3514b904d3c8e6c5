import { describe } from 'vitest';
import { useDatabase } from '../../support/database.ts';
import { describeReceiver } from './contract.ts';
import { startWithSdk } from './sdk.ts';

const { database, url } = useDatabase({ migrated: false });

async function breakInbox() {
  await database.query('RENAME TABLE ledgerbell_notifications TO away');
  return () => database.query('RENAME TABLE away TO ledgerbell_notifications');
}

/** Calls a route handler as Next.js does, as far as a handler can tell. */
const NEXT_SERVER = `
import { serve } from '@hono/node-server';
import { POST } from './app/webhooks/route.js';
serve({ fetch: POST, port: Number(process.env.PORT), hostname: '127.0.0.1' });
`;

describe.each(['express.mjs', 'fastify.mjs', 'hono.mjs', 'next-server.mjs'])('%s', (program) => {
  describeReceiver({
    page: 'javascript.md',
    readsBoth: true,
    async start(project, env) {
      await database.query('DROP TABLE IF EXISTS ledgerbell_notifications, movements');
      await project.write('next-server.mjs', NEXT_SERVER);
      return startWithSdk(project, program, { ...env, INBOX_DATABASE_URL: url });
    },
    breakInbox,
  });
});
