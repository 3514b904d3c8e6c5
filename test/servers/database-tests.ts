import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { importsOf } from '../support/imports-of.ts';

/**
 * Prints the tests of the product that depend on the database server: those that have SQL of their own, those that import a source with
 * SQL, among them plans and migrations, and one from end to end for each role. Everything else passes or fails alike on every server.
 *
 *     npm run test:mysql -- $(node --import tsx test/servers/database-tests.ts)
 */

const ROOT = join(import.meta.dirname, '../..');
const HAS_SQL = /\.query[(<]|\.createQueryBuilder\(|\bEXPLAIN\b/;
/** They are run elsewhere, or start servers of their own. */
const OTHERS = /^test\/(?:bench|browser|demo|docs|release|sdk|supervisor)\/|^test\/database-cluster\./;

/**
 * They are about Redis, endpoints, processes, or the limits of a process. Their SQL looks at what is stored, or makes what they need, and what
 * they call has tests of its own.
 */
const ABOUT_OTHER_PARTS = new RegExp(
  `^test/(?:${[
    'api/redis-outage',
    'console/(?:calendar|queues)',
    'delivery/(?:feed/shutdown|killed|silent-dns|slow-batches)',
    'http/(?:caller-cache|guesses|in-flight|rate-limit|slow-readers)',
    'platform/tracing/',
  ].join('|')})`,
);

const FROM_END_TO_END = {
  api: 'test/customers/accounts.test.ts',
  importer: 'test/intake/importer.test.ts',
  delivery: 'test/delivery/runner.webhook.test.ts',
  maintenance: 'test/upkeep/retention.test.ts',
};

const isElsewhere = (name: string) => OTHERS.test(name) || ABOUT_OTHER_PARTS.test(name);

const isSource = (path: string) => /^(?:src|workers)\//.test(relative(ROOT, path)) && existsSync(path);

const hasSql = (path: string) => HAS_SQL.test(readFileSync(path, 'utf8'));

const dependsOnDatabase = (path: string) =>
  hasSql(path) || importsOf(path).some((other) => isSource(other) && hasSql(other));

const chosen = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map((name) => `test/${name}`)
  .filter((name) => name.endsWith('.test.ts') && !isElsewhere(name) && dependsOnDatabase(join(ROOT, name)));

console.log([...new Set([...chosen, ...Object.values(FROM_END_TO_END)])].toSorted().join('\n'));
