import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { documentOf, reasonOf, runCli, runHere } from './command.ts';

const service = useService();

let directory: string;
let key: string;
let customerId: string;
let accountId: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-cli-'));
  const made = await service.customer();
  key = made.api_key;
  customerId = made.customer.id;
  ({ id: accountId } = await createAccount(service, key));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function file(name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

const importFile = (path: string, ...args: string[]) =>
  runHere(['import', path, '--key', key, '--url', service.url, ...args]);

const rows = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => movement(accountId, { unique_id: `${name}-${at}` }));
const ndjson = (movements: object[]) => movements.map((row) => `${JSON.stringify(row)}\n`).join('');

describe('ledgerbell import', () => {
  it('says that an import was accepted when the API key may not follow it', async () => {
    const body = { title: 'Sender', account: 'all', scopes: ['import'] };
    const { body: created } = await service.call('POST', '/v1/apikeys', { key, body });
    const path = await file('sender.ndjson', ndjson(rows('sender', 3)));
    const args = ['import', path, '--key', created.apikey.apikey, '--url', service.url];
    expect(reasonOf(await runHere(args))).toMatch(
      /^error: Import \d+ is accepted\. Only its progress cannot be followed: .*"read"/,
    );
  });

  it('waits until a file is stored, and counts the rows that were known already', async () => {
    const path = await file('twice.ndjson', ndjson(rows('twice', 1_500)));
    const first = documentOf(await importFile(path, '--json')).import;
    expect(first).toMatchObject({
      status: 'done',
      format: 'ndjson',
      received: 1_500,
      inserted: 1_500,
      duplicates: 0,
    });
    const second = documentOf(await importFile(path, '--json')).import;
    expect(second).toMatchObject({ status: 'done', inserted: 0, duplicates: 1_500 });
  });

  it('takes the format from --format if the file name does not tell it', async () => {
    const path = await file('movements.txt', JSON.stringify({ transactions: rows('named', 2) }));
    expect(reasonOf(await importFile(path))).toMatch(
      /^error: The file is JSON: .* a name that ends in \.json or \.ndjson, or --format\.$/,
    );
    expect(documentOf(await importFile(path, '--format', 'json', '--json')).import).toMatchObject({
      format: 'json',
      inserted: 2,
    });
  });

  it('imports a statement file for an account that it creates on request', async () => {
    const path = await file(
      'march.sta',
      mt940([{ day: 2, amount: 10 }], { account: 'DE89370400440532013000' }),
    );
    const refused = await importFile(path, '--json');
    expect({ code: refused.code, ...JSON.parse(refused.stdout).import }).toMatchObject({
      code: 1,
      inserted: 0,
      rejected: 1,
    });
    const created = documentOf(
      await importFile(path, '--create-accounts', '--format', 'mt940', '--json'),
    ).import;
    expect(created).toMatchObject({ format: 'mt940', inserted: 1, rejected: 0 });
  });

  it('tells a person the result, and the command that shows why rows were rejected', async () => {
    const path = await file('half.jsonl', `${ndjson(rows('half', 2))}{"amount":"12,3"}\n`);
    const { code, stdout, stderr } = await importFile(path);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Import \d+ is done: 3 rows, 2 new, 0 known already, 1 rejected; 0 deliveries\.\nWhy rows were rejected: ledgerbell imports errors \d+\n$/,
    );
  });

  const wrongBalance = (account: string) => mt940([{ day: 2, amount: 10 }], { account, closing: 1_241 });

  it('says what the warnings of an import are, and ends with 0', async () => {
    const path = await file('wrong.sta', wrongBalance('WARNED1'));
    const { code, stdout, stderr } = await importFile(path, '--create-accounts');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Import \d+ is done: 1 row, 1 new, .*\n1 warning: line \d+: The closing balance is 1241\.00, .*\n$/,
    );
    const again = documentOf(await importFile(path, '--create-accounts', '--json')).import;
    expect(again).toMatchObject({
      warnings: 1,
      first_warnings: [{ line: expect.any(Number), message: expect.stringMatching(/^The closing balance/) }],
    });
  });

  it('shows ten warnings, and says how many more there are and where', async () => {
    const statements = Array.from({ length: 12 }, (_, at) => wrongBalance(`MANY${at}`));
    const path = await file('many-wrong.sta', statements.join('\r\n'));
    const { code, stdout } = await importFile(path, '--create-accounts');
    expect(code).toBe(0);
    const [, id] = /^Import (\d+) is done/.exec(stdout) ?? [];
    expect(stdout).toMatch(/\n12 warnings: line \d+: The closing balance is 1241\.00, .*\n {2}line \d+: /);
    expect(stdout.match(/line \d+: The closing/g)).toHaveLength(10);
    expect(stdout).toContain(`\n  2 more: ledgerbell imports errors ${id}\n`);

    const show = (...args: string[]) =>
      runHere(['imports', 'show', String(id), '--key', key, '--url', service.url, ...args]);
    const shown = (await show()).stdout;
    expect(shown).toMatch(/^statements +12\nwarnings +12$/m);
    expect(shown.match(/^warning +line \d+: The closing balance is 1241\.00, /gm)).toHaveLength(10);
    expect(shown).toMatch(new RegExp(`^warning +2 more: ledgerbell imports errors ${id}$`, 'm'));
    const answer = documentOf(await show('--json'));
    expect(answer.import.first_warnings).toHaveLength(3);
    expect(answer.warnings).toHaveLength(10);
  });

  it('ends with 1 if every row was rejected, but not if one of them is known already', async () => {
    const path = await file('all.jsonl', '{"amount":"12,3"}\n'.repeat(2));
    const { code, stdout, stderr } = await importFile(path);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/: 2 rows, 0 new, 0 known already, 2 rejected; 0 deliveries\.\nWhy rows were/);
    const [known = {}] = rows('half', 1);
    const mixed = await file('mixed.jsonl', `${ndjson([known])}{"amount":"12,3"}\n`);
    expect((await importFile(mixed)).code).toBe(0);
    expect((await importFile(mixed)).stdout).toContain(': 2 rows, 0 new, 1 known already, 1 rejected; ');
  });

  it('sends a file of many megabytes', async () => {
    const long = { description: 'Ğ'.repeat(4_000) };
    const path = await file('large.ndjson', ndjson(rows('large', 1_200).map((row) => ({ ...row, ...long }))));
    expect(documentOf(await importFile(path, '--json')).import).toMatchObject({ inserted: 1_200 });
  });

  it('reads standard input, and takes the key from the environment or from a file', async () => {
    const input = ndjson(rows('piped', 3));
    const args = ['import', '-', '--url', service.url];
    const env = { LEDGERBELL_API_KEY: key };
    const format = ['--format', 'ndjson', '--json'];
    expect(documentOf(await runCli([...args, ...format], env, { input })).import).toMatchObject({
      status: 'done',
      inserted: 3,
    });
    const inFile = { LEDGERBELL_API_KEY_FILE: await file('key', `${key}\n`), LEDGERBELL_URL: service.url };
    const again = await runCli(['import', '-', ...format], inFile, { input });
    expect(documentOf(again).import).toMatchObject({ inserted: 0, duplicates: 3 });
    const missing = { LEDGERBELL_API_KEY_FILE: join(directory, 'none') };
    expect(reasonOf(await runCli([...args, ...format], missing, { input }))).toBe(
      'error: LEDGERBELL_API_KEY_FILE must be the path of a readable file (ENOENT).',
    );
    expect(reasonOf(await runCli([...args, ...format], {}, { input }))).toMatch(
      /^error: --url needs an API key: /,
    );
  });

  it('is sent by an operator of this machine without an API key, for the customer of the account', async () => {
    const path = await file('operator.ndjson', ndjson(rows('operator', 2)));
    const env = { DATA_DIR: service.runtime.config.dataDir };
    const asOperator = (...args: string[]) => runHere(['import', ...args], env);
    const made = documentOf(await asOperator(path, '--customer', customerId, '--json'));
    expect(made.import).toMatchObject({ status: 'done', inserted: 2 });
    const [sent] = await service.runtime.database.query('SELECT operator FROM imports WHERE id = ?', [
      made.import.id,
    ]);
    expect(sent).toEqual({ operator: userInfo().username });
    const statement = await file('operator.sta', mt940([{ day: 4, amount: 10 }], { account: 'XY1' }));
    expect(documentOf(await asOperator(statement, '--account', accountId, '--json')).import.status).toBe(
      'done',
    );
    expect(reasonOf(await asOperator(statement, '--account', '999999999'))).toBe(
      'error: There is no account of that id.',
    );
    expect(reasonOf(await asOperator(path))).toMatch(/^error: Say for which customer: /);
    expect(reasonOf(await asOperator(path, '--account', accountId))).toMatch(
      /^error: The rows of NDJSON name their accounts: leave --account out, /,
    );
  });

  it('treats an empty file as a file without rows', async () => {
    expect(documentOf(await importFile(await file('empty.ndjson', ''), '--json')).import).toMatchObject({
      status: 'done',
      inserted: 0,
    });
  });

  it("shows the service's reason for refusing a file or a key", async () => {
    const path = await file(
      'wrong.json',
      JSON.stringify({ transactions: [movement(accountId, { amount: '1e5' })] }),
    );
    expect(reasonOf(await importFile(path))).toMatch(/^error: transactions\.0\.amount must be a string/);
    const unknown = await runHere(['import', path, '--key', 'lb_tellnobody', '--url', service.url]);
    expect(reasonOf(unknown)).toBe(
      `error: This API key does not exist. It may be mistyped, or it was deleted. The request went to ${service.url}.`,
    );
  });

  it("names options in place of the API's parameters, but not with --json", async () => {
    const entries = [2, 3].map((day) => ({ day, amount: 10 }));
    const statement = await file('words.sta', mt940(entries, { account: 'XY12345678' }));
    const here = (...args: string[]) =>
      runHere(['import', statement, '--key', key, '--url', service.url, ...args]);
    const advice = 'create it, use --account, or use --create-accounts';
    expect((await here('--dry-run')).stdout).toContain(advice);
    const { id } = JSON.parse((await here('--json')).stdout).import;
    const errors = (...args: string[]) =>
      runHere(['imports', 'errors', String(id), '--key', key, '--url', service.url, ...args]);
    const shown = (await errors()).stdout;
    expect(shown).toContain(advice);
    expect(shown).toMatch(/\n\n2 rows were rejected; 0 warnings\.\n$/);
    const answer = documentOf(await errors('--json'));
    expect(answer.import).toMatchObject({ id, rejected: 2, warnings: 0 });
    expect(answer.errors).toMatchObject([
      { message: expect.stringMatching(/send create_accounts=true with/) },
    ]);
    expect(reasonOf(await here('--account', '999999999'))).toBe(
      'error: --account is not one of your accounts.',
    );
  });

  it('names the URL at which nothing answers', async () => {
    const path = await file('nowhere.json', '{}');
    expect(reasonOf(await runHere(['import', path, '--key', key, '--url', 'http://127.0.0.1:1']))).toBe(
      'error: Nothing answers at http://127.0.0.1:1 (ECONNREFUSED). Start the service (ledgerbell start), or say with --url where it is.',
    );
  });
});
