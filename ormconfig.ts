import { createDataSource } from './src/database/data-source.ts';
import { readConfig } from './src/platform/config.ts';

/** The DataSource for TypeORM's own command line; the service makes its own in the same way. */
const { databaseUrl } = readConfig();
if (databaseUrl === undefined) {
  throw new Error(
    'Set DATABASE_URL for TypeORM’s command line; embedded servers are migrated when they start.',
  );
}

export default createDataSource(databaseUrl);
