import { expect, it } from 'vitest';
import { createAccount } from '../../support/movements.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService({ roles: ['api', 'importer'] });

const IBAN = 'TR330006100519786457841326';

/** Statements with one entry each, all of one day, that end on several days. */
const fileOf = (count: number) =>
  Array.from({ length: count }, (_, n) => {
    const [opening, day] = [1_000 + 7 * n, String(2 + (n % 20)).padStart(2, '0')];
    return [
      ':20:X',
      `:25:${IBAN}`,
      ':28C:1/1',
      `:60F:C260302TRY${opening},00`,
      `:61:2603020302C1,00NTRFNONREF//R${n}`,
      `:62F:C2603${day}TRY${opening + 1},00`,
      '-',
    ].join('\r\n');
  }).join('\r\n');

it('a file of more statements of a day than can be compared ends as failed, stores nothing, and can be retried', async () => {
  const { api_key: key } = await service.customer();
  await createAccount(service, key, { iban: IBAN });
  const send = (query: string) =>
    service.call('POST', `/v1/imports${query}`, {
      key,
      body: Buffer.from(fileOf(1_001)),
      type: 'application/octet-stream',
    });
  const sentence =
    'More than 1000 final statements of the account share a day, with those that are stored. Check the program that made the file.';
  expect(await send('?dry_run=true')).toMatchObject({
    status: 413,
    body: { detail: `${sentence} Nothing was stored.` },
  });
  const accepted = await send('');
  const id = accepted.body.import.id;
  const failed = () =>
    until('the import has failed', async () => {
      const { body } = await service.call('GET', `/v1/imports/${id}`, { key });
      return body.import.status === 'failed' && body.import;
    });
  expect(await failed()).toMatchObject({ status: 'failed', inserted: 0, error: sentence });
  const retried = await service.call('POST', `/v1/imports/${id}/retry`, { key });
  expect(retried.status).toBe(202);
  expect(await failed()).toMatchObject({ inserted: 0, error: sentence });
}, 60_000);
