import { Client } from 'undici';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { segmentsMade, storeReadHistory } from '../filled-tables.ts';
import { FIRST_DAY, type Owner } from '../history.ts';
import type { Installation } from '../installation.ts';
import { choosePages, type Page, type Pages } from '../listing-pages.ts';
import { type Process, startProcess } from '../processes.ts';

const ACCOUNTS = 10;
/** Accounts of another customer, whose movements are stored between those of the first. */
const FOREIGN_ACCOUNTS = 3;

/**
 * Pages of 1,000 movements over HTTP, from a customer with a million. Baseline: mysql2 with the best SQL for the page that we
 * know, and JSON.stringify of the same answer, without HTTP, authentication, validation or a choice between statements.
 */
export const listing: Figure = {
  about:
    'pages of 1,000 movements a second over HTTP, against mysql2 and JSON.stringify; deep pages against the first',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const rows = sized(scale, { smoke: 6_000, normal: 1_100_000, large: 10_000_000 });
    const { key, owners } = await fill(installation, rows);
    const pages = await choosePages(
      installation.runtime.database,
      owners,
      sized(scale, { smoke: 6, normal: 1_001 }),
    );
    const baseline = startProcess('./listing-baseline.js');
    const client = new Client(installation.url);
    const context = { key, client, baseline, databaseUrl: installation.databaseUrl };
    for (const page of [...pages.plain, pages.deep, pages.numbered(FIRST_DAY)])
      await checkEqual(context, page);
    return {
      server: installation.server,
      round: () => round(context, pages, sized(scale, { smoke: 1, normal: 5 })),
      async end() {
        await client.destroy();
        await baseline.end();
        await installation.end();
      },
    };
  },
};

/** Stores the history of a customer, and of another one between its movements. */
export async function fill({ call, customer, runtime }: Installation, rows: number) {
  const add = async (count: number): Promise<{ key: string; owners: Owner[] }> => {
    const { api_key: key, customer: made } = await customer();
    const owners: Owner[] = [];
    for (let i = 0; i < count; i += 1) {
      const body = { bank: `Banka ${i % 3}`, title: `Hesap ${i}`, currency: 'TRY' };
      const { account } = (await call(key, 'POST', '/v1/accounts', body)) as { account: { id: string } };
      owners.push({ customerId: made.id, accountId: account.id });
    }
    return { key, owners };
  };
  const { key, owners } = await add(ACCOUNTS);
  const { owners: others } = await add(FOREIGN_ACCOUNTS);
  await storeReadHistory(
    runtime.database,
    [...owners, ...others],
    (rows * (ACCOUNTS + FOREIGN_ACCOUNTS)) / ACCOUNTS,
  );
  await segmentsMade(runtime.database);
  return { key, owners };
}

interface Context {
  key: string;
  client: Client;
  baseline: Process;
  databaseUrl: string;
}

/** @throws when the service's answer is not, byte for byte, that of the SQL. */
async function checkEqual(context: Context, page: Page): Promise<void> {
  const served = (await serve(context, page)).toString();
  const { body } = await read(context, page, 1);
  const rows = (JSON.parse(body) as { transactions: unknown[] }).transactions.length;
  if (rows === 0 || served !== body) {
    throw new Error(`${page.path}: the service's answer is not that of the SQL, which has ${rows} rows`);
  }
}

async function serve({ client, key }: Context, { path }: Page): Promise<Buffer> {
  const { statusCode, body } = await client.request({
    method: 'GET',
    path,
    headers: { authentication: key },
  });
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${bytes}`);
  return bytes;
}

async function read({ baseline, databaseUrl }: Context, { find, sql, values }: Page, requests: number) {
  const answer = baseline.receive<{ times: number[]; body: string }>();
  baseline.send({ databaseUrl, find, page: sql, values, requests });
  return answer;
}

/** Requests in a row of one side, before those of the other side; fewer of slow requests. */
const AT_A_TIME = 10;
const SLOW_AT_A_TIME = 2;

async function round(context: Context, pages: Pages, repetitions: number): Promise<Measured[]> {
  const serveOften = async (count: number, choose: () => Page): Promise<number[]> => {
    const times: number[] = [];
    for (let i = 0; i < count; i += 1) {
      const page = choose();
      const started = performance.now();
      await serve(context, page);
      times.push(performance.now() - started);
    }
    return times;
  };
  const readOften = async (page: Page) => (await read(context, page, AT_A_TIME)).times;
  const serveFirst = () => serveOften(AT_A_TIME, () => pages.first);

  const measured: Measured[] = [];
  for (const page of pages.plain) {
    const [time, other] = await alternate(
      repetitions,
      () => serveOften(AT_A_TIME, () => page),
      () => readOften(page),
    );
    measured.push({
      name: `listing, ${page.name}`,
      unit: 'pages/s',
      value: 1_000 / time,
      baseline: { name: 'mysql2 and JSON.stringify', value: 1_000 / other },
      wanted: { atLeast: 0.6 },
    });
  }
  const againstFirst = async (name: string, atMost: number, count: number, choose: () => Page) => {
    const [time, other] = await alternate(repetitions, () => serveOften(count, choose), serveFirst);
    measured.push({
      name: `listing, ${name}`,
      unit: 'ms',
      value: time,
      baseline: { name: pages.first.name, value: other },
      wanted: { atMost },
    });
  };
  const { deep, numbered } = pages;
  const known = numbered(FIRST_DAY);
  await againstFirst(deep.name, 1.2, AT_A_TIME, () => deep);
  // The page offset cache has known its place since it was first read. A client that reads page after page has the same benefit.
  await againstFirst(`${known.name}, when the one before was read`, 3, AT_A_TIME, () => known);
  await againstFirst(`${known.name}, asked for first`, 3, SLOW_AT_A_TIME, () => numbered(anotherDay()));
  return measured;
}

let daysBefore = 0;

/** A day before all movements that was not used yet: the pages are the same, but the service has not cached their places. */
function anotherDay(): string {
  daysBefore += 1;
  return new Date(Date.parse(FIRST_DAY) - daysBefore * 86_400_000).toISOString().slice(0, 10);
}

/** Measures two things in alternation. @returns the median milliseconds of each. */
export async function alternate(
  repetitions: number,
  one: () => Promise<number[]>,
  other: () => Promise<number[]>,
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let i = 0; i < repetitions; i += 1) {
    times[0].push(...(await one()));
    times[1].push(...(await other()));
  }
  return [median(times[0]), median(times[1])];
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
