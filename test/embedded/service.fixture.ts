import { startEmbedded } from '../../src/embedded/servers.ts';

/** A service as a process of its own, to be killed: prints its servers' URLs as JSON when they answer. */
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
