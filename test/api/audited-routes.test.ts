import { beforeAll, expect, it } from 'vitest';
import { useSourcesDir } from '../sources/folder-source.ts';
import { type Operation, readOperations } from '../support/operations.ts';
import { useOwnService } from '../support/service.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';
import { createWorld, idsOf, type World } from '../support/world.ts';
import { fill, leastBody } from './tenants/requests.ts';

/** POST requests that record no change, and why. */
const NO_CHANGES: Record<string, string> = {
  'POST /v1/imports': 'the import itself says who has sent what, and when',
  'POST /v1/webhooks/{id}/test': 'nothing is stored',
};

const service = useOwnService({
  because: 'it has a folder for sources',
  roles: ['api', 'importer'],
  config: { sourcesDir: useSourcesDir() },
});

let world: World;
/** Of a file that the newest source has collected. */
let withdrawnImportId: string;
let changes: Operation[];

/** The key that is deleted is not the one that asks, and what is deleted is not needed any more. */
const newest = (collection: string) => idsOf(world.all, collection).at(-1) ?? '';

/** What is withdrawn is not the import that is retried. */
const oldest = (collection: string) => idsOf(world.all, collection)[0] ?? '';

beforeAll(async () => {
  world = await createWorld(service, {
    mark: 'audited',
    accounts: 2,
    movements: 1,
    issues: 1,
    webhooks: [],
    outcomes: ['failed'],
  });
  const operations = await readOperations(service);
  changes = operations
    .filter(({ method, name }) => method !== 'GET' && !(name in NO_CHANGES))
    .sort((a, b) => orderOf(a) - orderOf(b));
  await failNewestImport();
  withdrawnImportId = await insertWithdrawnFile(service.runtime.database, newest('sources'));
});

/** Things that are deleted with an account are deleted before it. */
const orderOf = ({ method, path }: Operation): number =>
  method !== 'DELETE' ? 0 : path.startsWith('/v1/accounts/') ? 2 : 1;

async function failNewestImport(): Promise<void> {
  const { database } = service.runtime;
  const id = newest('imports');
  await database.query("UPDATE imports SET status = 'failed' WHERE id = ?", [id]);
  await database.query('DELETE FROM import_parts WHERE import_id = ?', [id]);
  await database.query('INSERT INTO import_parts VALUES (?, 0, ?)', [id, Buffer.from('')]);
}

function bodyOf({ method, path, bodies }: Operation): object | undefined {
  const schema = bodies.get('application/json') ?? null;
  if (schema === null) return undefined;
  if (path.endsWith('/collect-again')) return { import_id: withdrawnImportId };
  // A change must change something.
  return leastBody(schema, method === 'PATCH' ? { title: 'Başka' } : {});
}

const countEvents = async () => {
  const [row] = await service.runtime.database.query<{ events: string }[]>(
    'SELECT COUNT(*) AS events FROM audit_events',
  );
  return Number(row?.events);
};

// A route that is added later is asked for too, because the operations are those of the document.
it('every request that changes something is recorded exactly once in the audit log', async () => {
  const recorded: Record<string, number> = {};
  for (const operation of changes) {
    const body = bodyOf(operation);
    const before = await countEvents();
    const answer = await service.call(
      operation.method,
      fill(operation, operation.path.endsWith('/withdraw') ? oldest : newest),
      {
        key: world.key,
        ...(body === undefined ? {} : { body }),
      },
    );
    expect([200, 202], `${operation.name}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
    recorded[operation.name] = (await countEvents()) - before;
  }
  expect(changes.length).toBeGreaterThan(14);
  expect(recorded).toEqual(Object.fromEntries(changes.map(({ name }) => [name, 1])));
});
