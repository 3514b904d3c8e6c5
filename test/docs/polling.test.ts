import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

interface Last {
  id: number;
  date_readed: string | null;
}

interface Program {
  movementsAfter(last?: Last): AsyncIterable<Last & { unique_id: string }>;
}

/** The first program of docs/listing-movements.md. */
async function readProgram(): Promise<Program> {
  const page = readFileSync(new URL('../../docs/listing-movements.md', import.meta.url), 'utf8');
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  return import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(program)}`);
}

it('the polling program of docs/listing-movements.md gets every movement once, over several pages and polls', async () => {
  const { api_key: key } = await service.customer();
  const { id: account } = await createAccount(service, key);
  vi.stubEnv('URL', service.url);
  vi.stubEnv('KEY', key);
  const { movementsAfter } = await readProgram();
  const sent: string[] = [];
  const polled: string[] = [];
  let last: Last | undefined;
  for (const count of [0, 1_100, 3, 2, 0]) {
    const ids = Array.from({ length: count }, (_, i) => `${sent.length + i}`);
    sent.push(...ids);
    const movements = ids.map((unique_id) => movement(account, { unique_id }));
    if (count > 0) await importMovements(service, key, movements);
    for await (const { id, date_readed, unique_id } of movementsAfter(last)) {
      polled.push(unique_id);
      last = { id, date_readed };
    }
  }
  expect(polled).toEqual(sent);
});
