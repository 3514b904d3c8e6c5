import { startEmbedded } from '../../../src/servers/embedded.ts';

/** Runs embedded servers in a process of its own, which a test kills. Prints their URLs as JSON when they answer. */
const [dataDir = ''] = process.argv.slice(2);
const { databaseUrl, redisUrl, stop } = await startEmbedded({
  dataDir,
  mysql: true,
  redis: true,
  install: 'never',
  announce: () => {},
});
process.once('SIGTERM', () => stop());
console.log(JSON.stringify({ databaseUrl, redisUrl }));
