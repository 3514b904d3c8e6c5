import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const rows = read('docs/limits.md')
  .split('\n')
  .filter((line) => line.startsWith('| '));

/** A row of docs/limits.md, the number it has, and the line of code that sets it. */
it.each([
  ['Unknown API keys from one address', '100 within 10 s', 'http/admission.ts', 'GUESSES = 100;'],
  ['Wrong passwords', '10 within a minute', 'console/server.ts', 'GUESSES = 10;'],
  ['Request line and headers', '16 KiB', 'http/listener.ts', 'HEADER_BYTES = 16 * KIB;'],
  ['Number of headers', '100', 'http/listener.ts', 'MAX_HEADERS = 100;'],
  ['Time to send the headers', '15 s', 'http/listener.ts', 'HEADERS_TIMEOUT = 15 * SECOND;'],
  ['Time to send the whole request', '10 min', 'http/listener.ts', 'REQUEST_TIMEOUT = 600 * SECOND;'],
  ['Body of a JSON import', '32 MiB', 'intake/stage.ts', 'JSON_IMPORT_BYTES = 32 * MIB;'],
  ['JSON imports above 256 KiB at once', '64 MiB', 'api/routes/imports/create.ts', 'TOTAL_BYTES = 64 * MIB;'],
  ['Test notifications', '10 per minute', 'api/routes/webhooks.ts', 'TESTS_PER_MINUTE = 10;'],
  ['Body of an NDJSON import', '1 GiB', 'intake/stage.ts', 'NDJSON_IMPORT_BYTES = 1024 * MIB;'],
  ['Work on a dry run', '60 s', 'intake/dry-runs.ts', 'WORK_LIMIT = 60 * SECOND;'],
  ['Body of a dry run', '10 KiB/s', 'intake/dry-runs.ts', 'SLOWEST = 10 * 1_024;'],
  ['Statements of a file', '100,000; 1,000', 'intake/importer/chunks.ts', 'MOST_STATEMENTS = 100_000;'],
  ['Dry runs of imports at once', '4; 1 for', 'intake/dry-runs.ts', 'total: 4, perOwner: 1,'],
  ['Rows, rejected rows', '1,000', 'intake/dry-run/dry-run.ts', 'MAX_LISTED = 1_000;'],
  ['A line of an NDJSON import', '64 KiB', 'intake/importer/rows.ts', 'MAX_LINE_BYTES = 64 * 1024;'],
  ['Body of any other request', '256 KiB', 'http/input.ts', 'RESOURCE_BYTES = 256 * KIB;'],
  ['Validation issues in one response', '100', 'platform/validation.ts', 'MAX_ISSUES = 100;'],
  ['`per_page`', '1 to 1,000', 'http/paging.ts', 'MAX_PER_PAGE = 1_000;'],
  ['Accounts of a limited API key', '1,000', 'customers/customers.ts', 'MAX_ACCOUNTS = 1_000;'],
  ['`description` of a webhook', '500 characters', 'webhooks/webhook-input.ts', 'maxCharacters(500)'],
  ['`description` of a movement', '4,000 characters', 'ledger/movement.ts', 'description: text(4_000)'],
  ['`number` of an account', '64 characters', 'customers/account-view.ts', '...maxCharacters(64),'],
  ['`name`, `unique_id`', '255 characters', 'ledger/movement.ts', 'unique_id: text(255)'],
  ['Movements of a JSON import', '100', 'ledger/group-commit.ts', 'MAX_GROUP_MOVEMENTS = 100;'],
  ['Small imports of one customer', '500 movements', 'ledger/group-commit.ts', 'MAX_WAITING = 500;'],
  [
    'Rows, and statements, stored per transaction',
    '1,000',
    'intake/importer/chunks.ts',
    'CHUNK_ROWS = 1_000;',
  ],
  ['Validation issues kept per import', '10,000', 'intake/importer/chunks.ts', 'MAX_LISTED = 10_000;'],
  ['Runs that end at the same place', '10', 'intake/imports.ts', 'MAX_CRASHES = 10;'],
  ['Operational events of one type', '100', 'delivery/operational-event.ts', 'MOST_PER_HOUR = 100;'],
  ['Failed runs of a source until', '3', 'sources/runs/finish-run.ts', 'FAILURES = 3;'],
  ['Interval of a source', '10 s to 31 days', 'sources/source-schedule.ts', 'SHORTEST = 10 * UNITS.s;'],
  ['A file', '1 GiB', 'sources/runs/source-files.ts', 'if (bytes > NDJSON_IMPORT_BYTES)'],
  ['A run', '1 h', 'sources/runs/collector.ts', 'total: 60 * MINUTE'],
  ['Nothing comes from a source', '2 min', 'sources/runs/collector.ts', 'silence: 2 * MINUTE'],
  ['Files in a row that cannot be read', '3', 'sources/runs/collector.ts', 'MAX_UNREADABLE = 3;'],
  ['Runs at a time, per importer process', '12; 4', 'sources/worker.ts', 'total: 12, perOwner: 4'],
  ['Sources of a customer', '1,000', 'sources/sources.ts', 'MOST_SOURCES = 1_000;'],
  ['Accounts of a customer', '100,000', 'customers/accounts.ts', 'MOST_ACCOUNTS = 100_000;'],
  ['Wait of a source that fails', '6 h', 'sources/source-schedule.ts', 'LONGEST_BACKOFF = 6 * UNITS.h;'],
  ['Runs kept per source', '1,000', 'sources/runs/finish-run.ts', 'KEPT_RUNS = 1_000;'],
  ['Time to connect to an SFTP', '15 s', 'sources/connectors/connector.ts', 'connect: 15 * SECOND'],
  ['Silence of such a server', '30 s', 'sources/connectors/connector.ts', 'idle: 30 * SECOND'],
  ['Files in a folder of an SFTP', '100,000', 'sources/connectors/sftp.ts', 'MAX_FILES = 100_000;'],
  ['Redirects of an HTTP source', '3', 'sources/connectors/http-get.ts', 'MAX_REDIRECTS = 3;'],
  [
    'A page of a JSON source',
    '8 MiB',
    'sources/connectors/http-json.ts',
    'MAX_PAGE_BYTES = 8 * 1024 * 1024;',
  ],
  ['Pages of a JSON source', '1,000', 'sources/connectors/http-json.ts', 'MAX_PAGES = 1_000;'],
  ['A run waits for the imports', '10 s', 'sources/runs/collector.ts', 'IMPORT_PATIENCE = 10_000;'],
  ['`headers` of your own', '10,', 'webhooks/webhook-input.ts', 'MAX_HEADERS = 10;'],
  ['Time to connect to an endpoint', '5 s', 'delivery/posting/post.ts', 'CONNECT_TIMEOUT = 5 * SECOND;'],
  ['Time for a whole attempt', '15 s', 'delivery/posting/post.ts', 'TOTAL_TIMEOUT = 15 * SECOND;'],
  ['Time to resolve a name', '4 s', 'platform/addresses/resolver.ts', 'TIMEOUT = 4_000;'],
  ['Answer of an endpoint, kept', '4 KiB', 'delivery/posting/post.ts', 'KEPT_BYTES = 4 * 1024;'],
  ['Answer of an endpoint, read', '64 KiB', 'delivery/posting/post.ts', 'READ_BYTES = 64 * 1024;'],
  ['`Retry-After` of an endpoint', '1 h', 'delivery/run/schedule.ts', 'MAX_RETRY_AFTER = HOUR;'],
  ['Endpoint failures in a row', '3', 'delivery/run/attempt.ts', 'FAILURES_TO_OPEN = 3;'],
  ['Days on which every attempt failed', '5', 'delivery/run/attempt.ts', 'DISABLE_AFTER_DAYS = 5;'],
  ['Entries that a page of deliveries', '10,000', 'delivery/list-deliveries.ts', 'MOST_LOOKED_AT = 10_000;'],
  ['Counted deliveries of a replay', '1,000', 'delivery/replays.ts', 'counted: 1_000,'],
  ['Counted deliveries of a dry run', '100,000', 'delivery/replays.ts', 'counted: 100_000,'],
  ['Lease of a delivery run', '12 s', 'delivery/webhook-state.ts', 'LEASE_SECONDS = 12;'],
  ['Work that Redis has lost', '10 s', 'upkeep/worker.ts', 'RECONCILE_EVERY = 10 * SECOND;'],
])('docs/limits.md states the limit in the code: %s, %s', (name, value, file, code) => {
  const row = rows.find((line) => line.startsWith(`| ${name}`));
  expect(row?.split(' | ')[1]).toContain(value);
  expect(read(`src/${file}`)).toContain(code);
});
