import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { documentOf, reasonOf, runHere } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService();
const { database, receiver, asOperator, withKey, createCustomer, createWebhook, importMovements } = running;

describe.each(['as the operator', 'with an API key'])('%s', (access) => {
  const http = access === 'with an API key';
  /** An operator's command that names no object of a customer must name the customer. */
  const who = () => (http ? [] : ['--customer', running.customer.id]);
  const run = (...args: string[]) =>
    http ? withKey(...args) : asOperator(...args, ...(args[1] === 'list' ? who() : []));
  const answer = async (...args: string[]) => documentOf(await run(...args, '--json'));

  it('a webhook is created, listed, shown, tested, paused, enabled, given another secret, and deleted', async () => {
    const path = http ? '/life-key' : '/life-operator';
    const made = await (http ? withKey : asOperator)(
      ...[
        'webhooks',
        'create',
        '--title',
        'Life',
        '--description',
        'For a test',
        '--endpoint',
        `${receiver.url}${path}`,
        '--event',
        'NEW_DEBIT',
      ],
      ...['--header', 'X-One: 1', '--header', 'X-Two: 2', '--rate-limit', '50', '--json'],
      ...who(),
    );
    const { webhook } = documentOf(made);
    expect(webhook).toMatchObject({
      title: 'Life',
      description: 'For a test',
      event: 'NEW_DEBIT',
      account: 'all',
      status: 'active',
      rate_limit: 50,
      header_names: ['X-One', 'X-Two'],
      secret: expect.stringMatching(/^whsec_/),
    });
    const id = String(webhook.id);
    const { secret, ...shown } = webhook;
    expect((await answer('webhooks', 'show', id)).webhook).toEqual(shown);
    expect((await answer('webhooks', 'list')).webhooks).toContainEqual(shown);
    expect(await answer('webhooks', 'test', id)).toEqual({ test: { status_code: 200, error: null } });
    expect(receiver.at(path)).toHaveLength(1);
    const change = ['--max-in-flight', '32', '--rate-limit', 'none', '--ordered', '--description', ''];
    expect((await answer('webhooks', 'change', id, ...change)).webhook).toMatchObject({
      title: 'Life',
      description: null,
      max_in_flight: 32,
      rate_limit: null,
      ordered: true,
    });
    expect((await answer('webhooks', 'change', id, '--no-ordered')).webhook).toMatchObject({
      max_in_flight: 32,
      ordered: false,
    });
    expect(reasonOf(await run('webhooks', 'change', id, '--max-in-flight', '65'))).toBe(
      'error: --max-in-flight must be a whole number from 1 to 64.',
    );
    const batch = (...args: string[]) => ['webhooks', 'change', id, ...args] as const;
    expect((await answer(...batch('--batch-max', '500', '--batch-wait-ms', '2000'))).webhook.batch).toEqual({
      max: 500,
      wait_ms: 2_000,
    });
    expect((await run('webhooks', 'show', id)).stdout).toMatch(
      /^batches +up to 500 events in a POST, after at most 2 s$/m,
    );
    expect((await answer(...batch('--batch-max', '50'))).webhook.batch).toEqual({ max: 50, wait_ms: 0 });
    expect((await run('webhooks', 'show', id)).stdout).toMatch(/^batches +up to 50 events in a POST$/m);
    for (const [args, reason] of [
      [['--batch-max', '1'], '--batch-max must be a whole number from 2 to 1000.'],
      [
        ['--batch-max', '5', '--batch-wait-ms', '60001'],
        '--batch-wait-ms must be a whole number from 0 to 60000.',
      ],
      [['--batch-wait-ms', '5'], '--batch-wait-ms needs --batch-max.'],
    ] as const)
      expect(reasonOf(await run(...batch(...args)))).toBe(`error: ${reason}`);
    expect((await answer(...batch('--batch-max', 'none'))).webhook.batch).toBeNull();
    const events = (...args: string[]) => batch(...args.flatMap((event) => ['--event', event]));
    for (const args of [
      events('NEW_CREDIT', 'WITHDRAWN_TRANSACTION'),
      events('WITHDRAWN_TRANSACTION,NEW_CREDIT'),
    ])
      expect((await answer(...args)).webhook).toMatchObject({
        event: 'NEW_CREDIT',
        events: ['NEW_CREDIT', 'WITHDRAWN_TRANSACTION'],
      });
    expect((await run('webhooks', 'show', id)).stdout).toMatch(
      /^events +NEW_CREDIT, WITHDRAWN_TRANSACTION$/m,
    );
    expect((await answer(...events('NEW_DEBIT'))).webhook.events).toEqual(['NEW_DEBIT']);
    expect(reasonOf(await run(...events('NEW_DEBIT,NEW_CREDIT')))).toBe(
      'error: --event must be a list of a single event, or of WITHDRAWN_TRANSACTION and one of NEW_TRANSACTION, NEW_DEBIT, NEW_CREDIT.',
    );
    expect((await run(...events('NEW_DEBIT,'))).stderr).toContain('Allowed choices are NEW_TRANSACTION, ');
    expect(reasonOf(await run('webhooks', 'change', id))).toBe(
      'error: Say what to change, such as --max-in-flight 16. --help lists the options.',
    );
    expect((await answer('webhooks', 'pause', id)).webhook.status).toBe('paused');
    expect((await answer('webhooks', 'enable', id)).webhook.status).toBe('active');
    const rotated = await answer('webhooks', 'rotate-secret', id);
    expect(rotated.webhook.secret).not.toBe(secret);
    expect(await answer('webhooks', 'delete', id)).toEqual({ status: 'success' });
    expect(reasonOf(await run('webhooks', 'show', id))).toMatch(
      /^error: (There is no webhook of that id|This webhook does not exist), /,
    );
  });

  it('a delivery names the batch of each attempt', async () => {
    const path = http ? '/batched-key' : '/batched-operator';
    const id = await createWebhook(path);
    await run('webhooks', 'change', id, '--batch-max', '5');
    await importMovements(1);
    await until('it is delivered', async () => {
      const { webhook } = await answer('webhooks', 'show', id);
      return webhook.deliveries.delivered === 1;
    });
    const [sent] = receiver.at(path).map((it) => JSON.parse(it.body));
    const shown = await run('deliveries', 'show', sent.events[0].id);
    expect(shown.stdout).toMatch(/^attempt .* batch +error or response$/m);
    expect(shown.stdout).toContain(sent.batch);
    const { delivery } = await answer('deliveries', 'show', sent.events[0].id);
    expect(delivery.log).toMatchObject([{ batch: sent.batch, outcome: 'delivered' }]);
    await run('webhooks', 'pause', id);
  });

  it('an account gets an IBAN and a number, and loses them again', async () => {
    const { account } = running.customer;
    const change = (...args: string[]) => run('accounts', 'change', account, ...args);
    const changed = await change('--iban', 'TR33 0006 1005 1978 6457 8413 26', '--number', '42');
    expect(changed.stdout).toBe(
      `Account ${account}: Ana at Ziraat, TRY, IBAN TR330006100519786457841326, number 42\n`,
    );
    const removed = await answer('accounts', 'change', account, '--iban', '', '--number', '');
    expect(removed.account).toMatchObject({ title: 'Ana', iban: null, number: null });
    for (const checked of [true, false]) {
      const { account: it } = await answer('accounts', 'change', account, '--check-balances', `${checked}`);
      expect(it.check_balances).toBe(checked);
    }
    for (const [days, set] of [
      ['4', 4],
      ['', null],
    ] as const) {
      const { account: it } = await answer('accounts', 'change', account, '--late-after-days', days);
      expect(it.late_after_days).toBe(set);
    }
    expect(reasonOf(await change('--late-after-days', '401'))).toBe(
      'error: --late-after-days must be at most 400.',
    );
    expect(reasonOf(await change('--iban', 'TR12'))).toBe(
      'error: --iban must be an IBAN, with or without spaces.',
    );
    expect(reasonOf(await change())).toBe(
      'error: Say what to change: --bank, --title, --iban, --number, --on-conflict, --check-balances or --late-after-days.',
    );
  });

  it('accounts, banks, keys and movements are shown', async () => {
    expect((await answer('accounts', 'list')).accounts).toMatchObject([
      { id: Number(running.customer.account) },
    ]);
    expect((await answer('banks', 'list')).banks).toMatchObject([{ name: 'Ziraat' }]);
    const made = await answer('keys', 'create', '--title', 'Reader', '--scope', 'read', ...who());
    const { apikeys } = await answer('keys', 'list');
    expect(apikeys).toContainEqual(
      expect.objectContaining({ id: made.apikey.id, title: 'Reader', scopes: ['read'], account: 'all' }),
    );
    expect(await answer('keys', 'delete', String(made.apikey.id))).toEqual({ status: 'success' });
    expect((await answer('keys', 'list')).apikeys).toHaveLength(apikeys.length - 1);
    await importMovements(1);
    const [row] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM transactions');
    const { transaction } = await answer('movements', 'show', row?.id ?? '');
    expect(transaction).toMatchObject({ id: Number(row?.id), amount: '1250.00', name: null });
  });

  it('deliveries are listed by webhook and by movement, shown, and sent again', async () => {
    const path = http ? '/deliver-key' : '/deliver-operator';
    const webhook = await createWebhook(path);
    await importMovements(3);
    await until('all delivered', () => receiver.at(path).length === 3);
    const deliveries = async (...args: string[]) =>
      (await answer('deliveries', 'list', ...args)).deliveries as { id: string; transaction_id: number }[];
    const delivered = await until('all recorded', async () => {
      const found = await deliveries('--webhook', webhook, '--status', 'delivered');
      return found.length === 3 && found;
    });
    const [newest, middle] = delivered;
    const first = await run('deliveries', 'list', '--webhook', webhook, '--limit', '1', '--json');
    expect(JSON.parse(first.stdout)).toEqual({ deliveries: [newest] });
    expect(await deliveries('--webhook', webhook, '--until', '2020-01-01')).toEqual([]);
    const movementId = String(middle?.transaction_id);
    expect(await deliveries('--webhook', webhook, '--movement', movementId)).toEqual([middle]);
    expect(await deliveries('--movement', movementId)).toContainEqual(middle);
    const id = middle?.id ?? '';
    expect((await answer('deliveries', 'show', id)).delivery).toMatchObject({
      ...middle,
      log: [{ number: 1, outcome: 'delivered', status_code: 200 }],
    });
    expect((await answer('deliveries', 'redeliver', `msg_${id}`)).delivery).toMatchObject({
      status: 'pending',
    });
    await until('sent again', () => receiver.at(path).length === 4);
    await answer('webhooks', 'delete', webhook);
  });

  it('an import is listed, shown, and retried only after it has failed', async () => {
    const { id, gaps, ...rest } = await importMovements(2);
    expect((await answer('imports', 'list')).imports[0]).toEqual({ id, ...rest });
    expect((await answer('imports', 'show', String(id))).import).toEqual({ id, ...rest, gaps });
    expect(gaps).toEqual([]);
    expect(await answer('imports', 'errors', String(id))).toMatchObject({ errors: [] });
    expect(reasonOf(await run('imports', 'retry', String(id)))).toBe(
      'error: Only a failed import can be retried, but this import is done.',
    );
  });
});

describe('a command', () => {
  it.each([
    [['sources', 'list'], 'Say for which customer: give --customer <id> as the operator, or an API key'],
    [['webhooks', 'list', '--customer', '999999'], 'There is no customer of that id.'],
    [['webhooks', 'list', '--customer', '1', '--key', 'k'], 'cannot be used with'],
    [['webhooks', 'list', '--url', 'http://127.0.0.1:1'], '--url needs an API key'],
    [['webhooks', 'show', '999999'], 'There is no webhook of that id, or it was deleted.'],
    [['imports', 'show', '999999'], 'There is no import of that id.'],
    [['keys', 'delete', '999999'], 'There is no API key of that id.'],
    [['movements', 'show', '999999'], 'There is no movement of that id.'],
    [['deliveries', 'show', '999999-1'], 'There is no delivery of that id.'],
    [['deliveries', 'show', '17'], 'It must be <webhook id>-<movement id>, such as 17-4711.'],
    [['deliveries', 'list'], 'Say which deliveries: give --webhook <id>, --movement <id>, or both.'],
    [['webhooks', 'list', '--limit', '0'], 'It must be a whole number from 1 to 100000.'],
    [
      ['webhooks', 'create', '--customer', '1', '--title', 'x', '--endpoint', 'http://10.0.0.1/'],
      '--endpoint is not allowed',
    ],
  ])('explains why it cannot act: %j', async (args, reason) => {
    expect(reasonOf(await asOperator(...args))).toContain(reason);
  });

  it('refuses a wrong LEDGERBELL_URL', async () => {
    for (const wrong of ['ftp://x', 'http://user:tellnobody@127.0.0.1:1', 'here']) {
      const env = { LEDGERBELL_API_KEY: 'k', LEDGERBELL_URL: wrong };
      expect(reasonOf(await runHere(['webhooks', 'list'], env))).toBe(
        'error: LEDGERBELL_URL must be an http or https URL without a user name, such as https://ledgerbell.example.',
      );
    }
  });

  it('refuses a webhook that does not belong to the given customer or key', async () => {
    const webhook = await createWebhook('/whose');
    const other = await createCustomer();
    expect(reasonOf(await asOperator('webhooks', 'show', webhook, '--customer', other.id))).toBe(
      `error: The webhook does not belong to customer ${other.id}.`,
    );
    const stranger = { LEDGERBELL_API_KEY: other.key, LEDGERBELL_URL: running.url };
    expect(reasonOf(await runHere(['webhooks', 'show', webhook], stranger))).toContain(
      'This webhook does not exist',
    );
    await asOperator('webhooks', 'delete', webhook);
  });
});
