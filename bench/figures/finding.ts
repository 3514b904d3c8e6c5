import { Client } from 'undici';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { FIRST_DAY } from '../history.ts';
import type { Installation } from '../installation.ts';
import { alternate, fill } from './listing.ts';

/** A listing with a filter. */
interface Sought {
  name: string;
  query: string;
  /** How many movements its first page must have, at least and at most. */
  rows: readonly [number, number];
}

const PER_PAGE = 1_000;
const IMPORTED = 5_000;

/** Pages of 1,000 movements of a customer with millions, with each filter, against a page without. */
export const finding: Figure = {
  about:
    'pages of a listing with each filter, also of words that never occur, against pages without a filter',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const rows = sized(scale, { smoke: 6_000, normal: 1_100_000, large: 10_000_000 });
    const { key, owners } = await fill(installation, rows);
    const accounts = owners.map(({ accountId }) => accountId);
    const importId = await importSome(installation, key, accounts[0] ?? '');
    const pages = soughtOf({ accounts, importId });
    const client = new Client(installation.url);
    const read = createReader(client, key);
    for (const page of pages) await check(read, page);
    return {
      server: installation.server,
      round: () => round(read, pages, sized(scale, { smoke: 1, normal: 3 })),
      async end() {
        await client.destroy();
        await installation.end();
      },
    };
  },
};

/** Stores one import over the API. @returns its id. */
async function importSome({ call }: Installation, key: string, accountId: string): Promise<string> {
  const transactions = Array.from({ length: IMPORTED }, (_, n) => ({
    account_id: accountId,
    dc: 'Debit',
    amount: '77777.77',
    description: 'Sought and found',
    date_issue: '2026-02-01',
    unique_id: `sought ${n}`,
  }));
  const { import: made } = (await call(key, 'POST', '/v1/imports', { transactions })) as {
    import: { id: number };
  };
  for (;;) {
    const { import: it } = (await call(key, 'GET', `/v1/imports/${made.id}`)) as {
      import: { status: string };
    };
    if (it.status === 'done') return String(made.id);
    if (it.status === 'failed') throw new Error('the import failed');
  }
}

interface Filled {
  accounts: readonly string[];
  importId: string;
}

function soughtOf({ accounts, importId }: Filled): Sought[] {
  const all = `starts=${FIRST_DAY}`;
  const whole = { rows: [PER_PAGE, PER_PAGE] as const };
  const none = { rows: [0, 0] as const };
  return [
    { name: 'order=newest', query: `${all}&order=newest`, ...whole },
    { name: 'dc', query: `${all}&dc=Debit`, ...whole },
    { name: 'currency', query: `${all}&currency=TRY`, ...whole },
    { name: 'account with two ids', query: `${all}&account=${accounts[0]},${accounts[1]}`, ...whole },
    { name: 'unique_id', query: 'unique_id=sought%2077', rows: [1, 1] },
    { name: 'import_id', query: `import_id=${importId}`, ...whole },
    { name: 'an amount of one movement in 9,000', query: `${all}&amount=4242`, rows: [1, 23] },
    { name: 'an amount of each second movement', query: `${all}&amount_min=4600`, ...whole },
    { name: 'a word of every movement', query: `${all}&q=ozgur`, ...whole },
    { name: 'a word of the newest, order=newest', query: `${all}&q=sought&order=newest`, ...whole },
    { name: 'a word that never occurs', query: `${all}&q=nowhere`, ...none },
    {
      name: 'a word that never occurs, in a month',
      query: `starts=2025-03-01&ends=2025-03-31&q=nowhere`,
      ...none,
    },
    { name: 'a counterparty that never occurs', query: `${all}&opponent_iban=DE00`, ...none },
  ];
}

type Read = (query: string) => Promise<{ rows: number; goesOn: boolean }>;

const createReader =
  (client: Client, key: string): Read =>
  async (query) => {
    const path = `/v1/transactions?${query}`;
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path,
      headers: { authentication: key },
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 500)}`);
    return { rows: JSON.parse(text).transactions.length, goesOn: headers.link !== undefined };
  };

/** @throws when a page is not the one that is to be measured. */
async function check(read: Read, { name, query, rows }: Sought): Promise<void> {
  const found = await read(query);
  if (found.rows < rows[0] || found.rows > rows[1])
    throw new Error(`${name}: the page has ${found.rows} movements in place of ${rows.join(' to ')}`);
}

async function round(read: Read, pages: readonly Sought[], repetitions: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  const timed = (query: string) => async () => {
    const began = performance.now();
    await read(query);
    return [performance.now() - began];
  };
  for (const { name, query } of pages) {
    const [time, other] = await alternate(repetitions, timed(query), timed(`starts=${FIRST_DAY}`));
    measured.push({
      name: `finding, ${name}`,
      unit: 'pages/s',
      value: 1_000 / time,
      baseline: { name: 'the first page without a filter', value: 1_000 / other },
    });
  }
  return measured;
}
