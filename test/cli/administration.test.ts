import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { calledAs } from '../../src/platform/config.ts';
import { useDatabase } from '../support/database.ts';
import { documentOf, reasonOf, runCli, runHere } from './command.ts';
import { useRunningService } from './running-service.ts';

const fresh = useDatabase({ migrated: false });
const running = useRunningService();
const { database, asOperator: cli } = running;
const url = running.environment.DATABASE_URL;

const SECRET_KEY = randomBytes(32).toString('base64');
const environment = (databaseUrl: string) => ({
  DATABASE_URL: databaseUrl,
  REDIS_URL: inject('redisUrl'),
  SECRET_KEY,
});

async function customer(name = 'Örnek Ticaret A.Ş.'): Promise<string> {
  return String(documentOf(await cli('customers', 'create', '--name', name, '--json')).customer.id);
}
const account = async (customerId: string): Promise<string> =>
  String(
    documentOf(
      await cli(
        'accounts',
        'create',
        '--customer',
        customerId,
        '--bank',
        'Ziraat',
        '--title',
        'Ana',
        '--currency',
        'TRY',
        '--json',
      ),
    ).account.id,
  );

describe('ledgerbell migrate', () => {
  it('creates the schema once, and until then other commands ask for it', async () => {
    const onFresh = (...args: string[]) => runHere(args, environment(fresh.url));
    expect(reasonOf(await onFresh('skip-ids'))).toBe(
      'error: The database schema is not up to date. Run first: ledgerbell migrate',
    );
    const { migrated } = documentOf(await onFresh('migrate', '--json'));
    expect(migrated.length).toBeGreaterThan(0);
    expect(documentOf(await onFresh('migrate', '--json'))).toEqual({ migrated: [] });
    expect(documentOf(await onFresh('skip-ids', '--json'))).toHaveProperty('next_ids');
  });
});

describe('ledgerbell customers', () => {
  it('create prints the customer with a key that is stored as its SHA-256', async () => {
    const made = documentOf(await cli('customers', 'create', '--name', ' Şükrü İnşaat ', '--json'));
    expect(made).toEqual({
      customer: { id: expect.any(Number), name: 'Şükrü İnşaat' },
      api_key: expect.stringMatching(/^lb_/),
      api_secret: expect.stringMatching(/^.{32,}$/),
    });
    const hash = createHash('sha256').update(made.api_key).digest();
    const keys = await database.query('SELECT customer_id FROM api_keys WHERE key_hash = ?', [hash]);
    expect(keys).toEqual([{ customer_id: String(made.customer.id) }]);
  });

  it('list prints the customers in a table, or as one document', async () => {
    const id = await customer('Listelenen Ltd.');
    const { customers } = documentOf(await cli('customers', 'list', '--json'));
    expect(customers).toContainEqual({
      id: Number(id),
      name: 'Listelenen Ltd.',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+03$/),
    });
    const { code, stdout } = await cli('customers', 'list');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^id +name +since\n(.*\n)*${id} +Listelenen Ltd\\. `));
  });
});

describe('ledgerbell customers with an external id', () => {
  const create = (...args: string[]) => cli('customers', 'create', '--name', 'Dış Sistem', ...args);

  it('create creates one customer, and says that it exists the second time', async () => {
    const args = ['--external-id', 'crm 17', '--metadata', 'tier=gold', '--metadata', 'note=a=b'];
    const made = documentOf(await create(...args, '--json'));
    expect(made).toMatchObject({ created: true, api_key: expect.stringMatching(/^lb_/) });
    const { customer: existing } = made;
    expect(documentOf(await create(...args, '--json'))).toEqual({ customer: existing, created: false });
    expect((await create(...args)).stdout).toBe(
      `Customer ${existing.id}, Dış Sistem, has this external id. Nothing was changed, and no secret is shown.\nCreate an API key with: ledgerbell keys create --customer ${existing.id}\n`.replaceAll(
        'ledgerbell',
        calledAs(),
      ),
    );
    const [row] = await database.query<{ metadata: string }[]>(
      'SELECT metadata FROM customers WHERE id = ?',
      [existing.id],
    );
    expect(JSON.parse(row?.metadata ?? '')).toEqual({ tier: 'gold', note: 'a=b' });
  });

  it('list has a column for it', async () => {
    const made = documentOf(await create('--external-id', 'listed-1', '--json'));
    const { customers } = documentOf(await cli('customers', 'list', '--json'));
    expect(customers).toContainEqual({
      id: made.customer.id,
      name: 'Dış Sistem',
      external_id: 'listed-1',
      created_at: expect.any(String),
    });
    expect((await cli('customers', 'list')).stdout).toMatch(
      new RegExp(`^id +name +external id +since\n(.*\n)*${made.customer.id} +Dış Sistem +listed-1 `),
    );
  });

  it('update changes the name, the external id and the metadata, and removes them', async () => {
    const made = documentOf(await create('--external-id', 'before', '--metadata', 'a=1', '--json'));
    const update = async (...args: string[]) =>
      documentOf(await cli('customers', 'update', String(made.customer.id), ...args, '--json')).customer;
    expect(await update('--external-id', 'after', '--metadata', 'b=2')).toMatchObject({
      name: 'Dış Sistem',
      external_id: 'after',
      metadata: { b: '2' },
    });
    expect(await update('--name', 'Yeni Ad')).toMatchObject({ name: 'Yeni Ad', external_id: 'after' });
    expect(await update('--no-external-id', '--no-metadata')).toMatchObject({
      external_id: null,
      metadata: {},
    });
    expect(reasonOf(await cli('customers', 'update', '999999', '--name', 'x'))).toContain(
      'There is no customer of that id. List the customers with: ',
    );
  });

  it('names the customer of a command, also when it does not own the subject', async () => {
    const made = documentOf(await create('--external-id', 'named one', '--json'));
    const named = ['--customer', 'external_id:named one'];
    const args = ['--bank', 'Ziraat', '--title', 'Ana', '--currency', 'TRY', '--json'];
    const { account: own } = documentOf(await cli('accounts', 'create', ...named, ...args));
    expect((await cli('accounts', 'completeness', String(own.id), ...named)).code).toBe(0);
    const foreign = await account(await customer());
    const other = (...who: string[]) => cli('accounts', 'completeness', foreign, '--customer', ...who);
    expect(reasonOf(await other('external_id:named one'))).toBe(
      'error: The account does not belong to customer external_id:named one.',
    );
    expect(reasonOf(await other(String(made.customer.id)))).toBe(
      `error: The account does not belong to customer ${made.customer.id}.`,
    );
    expect(reasonOf(await other('999999'))).toContain('There is no customer of that id. ');
    for (const line of [other('external_id:nobody'), cli('keys', 'list', '--customer', 'external_id:nobody')])
      expect(reasonOf(await line)).toContain('There is no customer of that external id. ');
    expect(reasonOf(await cli('keys', 'list'))).toContain('Say for which customer: ');
  });
});

describe('ledgerbell operators tokens', () => {
  const tokens = (...args: string[]) => cli('operators', 'tokens', ...args);

  it('creates a token that works, lists it without the token, and deletes it', async () => {
    const expires = ['--expires', '2099-12-31'];
    const made = documentOf(
      await tokens('create', '--title', 'Destek', '--role', 'viewer', ...expires, '--json'),
    ).operator_token;
    const remote = { LEDGERBELL_OPERATOR_TOKEN: made.token, LEDGERBELL_OPS_URL: running.opsUrl };
    expect((await runHere(['customers', 'list', '--json'], remote)).code).toBe(0);
    expect(reasonOf(await runHere(['customers', 'create', '--name', 'x'], remote))).toMatch(/viewer|role/);
    const list = await tokens('list');
    expect(list.stdout).toMatch(
      new RegExp(
        `^id +begins with +title +role +expires +last used\n(.*\n)*.*${made.id} +lbop_\\S+ +Destek +viewer +2099-12-31 `,
      ),
    );
    expect(list.stdout).not.toContain(made.token);
    expect((await tokens('delete', String(made.id), '--yes')).code).toBe(0);
    expect(
      reasonOf(
        await runHere(['customers', 'list'], remote).then((it) => ({
          ...it,
          stderr: it.stderr.replace(/^The installation.*\n/, ''),
        })),
      ),
    ).toContain("This operator's token does not exist.");
  });

  it.each([
    [['create', '--title', ' ', '--role', 'viewer'], '--title must not be blank.'],
    [['create', '--title', 'x', '--role', 'owner'], 'Allowed choices are viewer, operator, admin.'],
    [
      ['create', '--title', 'x', '--role', 'viewer', '--expires', '2001-01-01'],
      '--expires must be a moment in the future',
    ],
    [['delete', '999999'], 'token'],
  ])('%j is refused', async (args, reason) => {
    expect(reasonOf(await tokens(...args))).toContain(reason);
  });
});

describe('ledgerbell accounts create', () => {
  it('prints the account as the API shows it', async () => {
    const customerId = await customer();
    const args = ['--bank', 'Garanti BBVA', '--title', 'Ana Hesap', '--currency', 'TRY'];
    const iban = 'TR63 0006 2000 0009 9000 0001 01';
    const names = ['--iban', iban, '--number', '0001-01'];
    const made = await cli('accounts', 'create', '--customer', customerId, ...args, ...names, '--json');
    expect(documentOf(made)).toEqual({
      account: {
        id: expect.any(Number),
        bank: { id: expect.any(Number), name: 'Garanti BBVA' },
        title: 'Ana Hesap',
        currency: 'TRY',
        iban: 'TR630006200000099000000101',
        number: '0001-01',
        status: 'active',
        on_conflict: 'hold',
        late_after_days: null,
        check_balances: false,
        statement_numbers: 'use',
        encoding: null,
        balance: null,
        balance_source: 'computed',
        balance_date: null,
        difference: null,
        last_work: null,
        last_update: null,
        error: null,
      },
    });
  });
});

describe('ledgerbell keys create', () => {
  it('prints a key for all accounts, or for the named ones', async () => {
    const customerId = await customer();
    const [one, two] = [await account(customerId), await account(customerId)];
    const all = documentOf(await cli('keys', 'create', '--customer', customerId, '--json'));
    expect(all).toEqual({ apikey: { id: expect.any(Number), apikey: expect.stringMatching(/^lb_/) } });
    const some = documentOf(
      await cli('keys', 'create', '--customer', customerId, '--account', one, '--account', two, '--json'),
    );
    const rows = await database.query('SELECT account_id FROM api_key_accounts WHERE api_key_id IN (?)', [
      [all.apikey.id, some.apikey.id],
    ]);
    expect(rows).toEqual([{ account_id: one }, { account_id: two }]);
  });

  it('refuses an account of another customer', async () => {
    const [customerId, foreign] = [await customer(), await account(await customer())];
    expect(reasonOf(await cli('keys', 'create', '--customer', customerId, '--account', foreign))).toBe(
      'error: --account must be the id of one of your accounts.',
    );
  });
});

describe('a command that cannot be run says why in one line', () => {
  const accounts = ['accounts', 'create', '--customer', '1', '--bank', 'Ziraat', '--title', 'Ana'];

  it.each([
    [['nosuch'], "unknown command 'nosuch'"],
    [['customers', 'create'], "required option '--name <name>' not specified"],
    [['customers', 'create', '--name', ' '], '--name must not be blank.'],
    [['customers', 'create', '--name', 'x'.repeat(201)], '--name must be at most 200 characters long.'],
    [['customers', 'list', '--jsn'], "unknown option '--jsn'"],
    [['customers', 'list', 'all'], 'too many arguments'],
    [['keys', 'create', '--customer', 'abc'], 'It must be an id: a string of digits, or external_id: and'],
    [['keys', 'create', '--customer', '999999'], 'There is no customer of that id.'],
    [
      ['accounts', 'create', '--customer', '999999', ...accounts.slice(4), '--currency', 'TRY'],
      'There is no customer of that id.',
    ],
    [[...accounts, '--currency', 'LIRA'], '--currency must be a currency of ISO 4217'],
    [[...accounts, '--currency', 'TRY', '--iban', 'TR00'], '--iban must be an IBAN, with or without spaces.'],
    [
      ['replay', '--webhook', '999999', '--since', '2026-01-01'],
      'There is no webhook of that id, or it was deleted.',
    ],
    [['replay', '--webhook', '1', '--since', '2026-02-30'], '--since must be a moment that exists'],
    [
      ['replay', '--webhook', '1', '--since', '2026-01-01', '--status', 'lost'],
      'Allowed choices are failed, delivered.',
    ],
    [['import', 'no-such-file.ndjson', '--key', 'k'], 'There is no file no-such-file.ndjson.'],
    [
      ['import', 'package.json', '--key', 'k k'],
      'The API key must be the one that was shown, without spaces.',
    ],
    [['import', 'LICENSE.txt', '--key', 'k'], 'There is no file LICENSE.txt.'],
    [['import', 'tsconfig.build.json', '--key', 'k', '--url', 'ftp://x'], 'It must be an http or https URL.'],
    [['listen', '--secret', 'whsec_'], '--secret must be "whsec_" followed by base64, as it was shown.'],
    [['listen', '--port', '65536', '--secret', 'x'], 'It must be a port from 0 (any free one) to 65535.'],
  ])('%j', async (args, reason) => {
    expect(reasonOf(await cli(...args))).toContain(reason);
  });

  it('with the name of the wrong variable', async () => {
    const { DATABASE_URL, ...rest } = environment(url);
    expect(reasonOf(await runHere(['migrate'], { ...rest, DATABASE_URL: 'postgres://x' }))).toMatch(
      /^error: DATABASE_URL must be a URL such as mysql:/,
    );
    expect(reasonOf(await runHere(['migrate'], { DATABASE_URL }))).toMatch(/^error: SECRET_KEY must be set/);
  });

  it('without showing a secret', async () => {
    const mistyped = await cli('listen', '--secrt=whsec_tellnobody', '--secret', 'whsec_tellnobody');
    expect(reasonOf(mistyped)).toBe("error: unknown option '--secrt'");
    expect(reasonOf(await cli('listen', '--secret', 'tellnobody'))).not.toContain('tellnobody');
    for (const wrong of ['mysql://who:tellnobody@127.0.0.1:1/x', withPassword(url, 'tellnobody')]) {
      const reason = reasonOf(await runHere(['skip-ids'], environment(wrong)));
      expect(reason).toMatch(/^error: MySQL (cannot be reached|refuses)/);
      expect(reason).not.toContain('tellnobody');
    }
  });
});

function withPassword(text: string, password: string): string {
  const changed = new URL(text);
  changed.password = password;
  return changed.href;
}

describe('ledgerbell', () => {
  it('shows its commands with --help, whatever the configuration', async () => {
    const { code, stdout, stderr } = await runCli(['--help'], { PORT: 'wrong' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of ['migrate', 'customers', 'keys', 'accounts', 'import', 'listen', 'replay']) {
      expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    }
  });
});
