import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { checkStatements } from '../../src/upkeep/events/check-accounts.ts';
import { storedEvents } from '../delivery/events/received-events.ts';
import { ACCOUNT_IBAN, dayReport, dayStatement } from '../support/day-statement.ts';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api', 'importer'] });

async function checkNow(accountId: string): Promise<void> {
  const { database } = service.runtime;
  await database.query('UPDATE statement_checks SET due_at = NOW(6) WHERE account_id = ?', [accountId]);
  await checkStatements(database);
}

async function customer() {
  const { api_key: key, customer } = await service.customer();
  const { id } = await createAccount(service, key, { iban: ACCOUNT_IBAN });
  const get = async (path: string) => (await service.call('GET', `/v1/accounts/${id}${path}`, { key })).body;
  return {
    key,
    id: customer.id,
    accountId: id,
    async send(body: string, query = '') {
      const answer = await service.call('POST', `/v1/imports${query}`, {
        key,
        body,
        type: 'application/octet-stream',
      });
      return importDone(service, key, answer.body.import.id);
    },
    statements: async () => (await get('/statements')).statements,
    completeness: async (query = '') => (await get(`/completeness${query}`)).completeness,
    movements: async () => (await get('/transactions?starts=2000-01-01')).transactions,
  };
}

describe('statements from files', () => {
  it('are listed with their numbers, days and balances, each once', async () => {
    const { send, statements } = await customer();
    const file = dayStatement(12, 2, 100, [50, -20]);
    await send(file);
    await send(file.replaceAll('\r\n', '\n'));
    expect(await statements()).toEqual([
      {
        id: expect.any(Number),
        number: '12',
        sequence: '1',
        from: '2026-03-02',
        to: '2026-03-02',
        opening_balance: '100.00',
        closing_balance: '130.00',
        opening_balance_date: '2026-03-02',
        closing_balance_date: '2026-03-02',
        currency: 'TRY',
        difference: null,
        entries: 2,
        kind: 'final',
        import_id: expect.any(Number),
        line: expect.any(Number),
        received_at: expect.any(String),
      },
    ]);
  });

  it('show a gap with the missing sum, which is reported once and closes when the missing statement comes', async () => {
    const { id, accountId, send, completeness } = await customer();
    const check = async () => {
      await checkNow(accountId);
      return (await storedEvents(service, id, 'statement.gap')).map(({ data }) => JSON.parse(data));
    };
    expect(await completeness()).toEqual({ status: 'unknown', periods: [], late_at: null });
    await send(dayStatement(1, 2, 100, [50]));
    await send(dayStatement(3, 4, 120, [1]));
    const gap = {
      from: '2026-03-03',
      to: '2026-03-03',
      status: 'gap',
      opening_balance: '150.00',
      closing_balance: '120.00',
      difference: '-30.00',
    };
    expect(await completeness()).toMatchObject({
      status: 'incomplete',
      periods: [{ status: 'complete' }, gap, {}],
    });
    expect(await completeness('?from=2026-03-04')).toMatchObject({ status: 'complete' });
    expect(await check()).toEqual([{ customer_id: Number(id), account_id: Number(accountId), period: gap }]);
    await send(dayStatement(2, 3, 150, [-10, -20]));
    expect(await completeness()).toMatchObject({
      status: 'complete',
      periods: [
        { from: '2026-03-02', to: '2026-03-04', opening_balance: '100.00', closing_balance: '121.00' },
      ],
    });
    expect(await check()).toHaveLength(1);
  });

  it('are late after the days configured for the account, which is reported once', async () => {
    const { key, id, accountId, send, completeness } = await customer();
    const lateEvents = async () => {
      await checkNow(accountId);
      return (await storedEvents(service, id, 'statement.late')).map(({ data }) => JSON.parse(data));
    };
    await send(dayStatement(1, 2, 100, [50]));
    expect(await completeness()).toMatchObject({ late_at: null });
    expect(await lateEvents()).toEqual([]);
    const change = (days: number | null) =>
      service.call('PATCH', `/v1/accounts/${accountId}`, { key, body: { late_after_days: days } });
    expect((await change(400)).body.account).toMatchObject({ late_after_days: 400 });
    expect(await completeness()).toMatchObject({ late_at: '2027-04-07T00:00:00.000Z' });
    expect(await lateEvents()).toEqual([]);
    await change(3);
    const event = {
      customer_id: Number(id),
      account_id: Number(accountId),
      late_since: '2026-03-06T00:00:00.000Z',
    };
    expect(await lateEvents()).toEqual([event]);
    expect(await lateEvents()).toEqual([event]);
    const checks = () =>
      service.runtime.database.query(
        'SELECT completeness, late_since IS NOT NULL AS late FROM statement_checks WHERE account_id = ?',
        [accountId],
      );
    expect(await checks()).toMatchObject([{ completeness: 'complete', late: expect.anything() }]);
    expect(Number((await checks())[0].late)).toBe(1);
    await change(400);
    await lateEvents();
    expect(Number((await checks())[0].late)).toBe(0);
  });

  it('that are late stay due until their event is recorded, if the hourly limit of events was reached', async () => {
    const { key, id, accountId, send } = await customer();
    await send(dayStatement(1, 2, 100, [50]));
    await service.call('PATCH', `/v1/accounts/${accountId}`, { key, body: { late_after_days: 3 } });
    const { database } = service.runtime;
    const others = Array.from({ length: 100 }, (_, other) => [
      id,
      'statement.late',
      `other ${id} ${other}`,
      '{}',
    ]);
    await database.query('INSERT INTO operational_events (customer_id, type, occasion, data) VALUES ?', [
      others,
    ]);
    const ofAccount = async () =>
      (await storedEvents(service, id, 'statement.late')).filter(({ data }) => data.includes('account_id'));
    await checkNow(accountId);
    expect(await ofAccount()).toEqual([]);
    const [check] = await database.query<{ due_at: Date | null }[]>(
      'SELECT due_at FROM statement_checks WHERE account_id = ?',
      [accountId],
    );
    expect(check?.due_at).not.toBeNull();
    await database.query(
      'UPDATE operational_events SET created_at = NOW(6) - INTERVAL 61 MINUTE WHERE customer_id = ?',
      [id],
    );
    await checkNow(accountId);
    expect(await ofAccount()).toHaveLength(1);
  });

  it('are kept with the entries that have come when their file breaks off', async () => {
    const { key, statements, accountId } = await customer();
    const whole = gzipSync(
      dayStatement(
        1,
        2,
        100,
        Array.from({ length: 40_000 }, (_, entry) => 1 + ((entry * 7919) % 9_973)),
      ),
    );
    const answer = await service.call('POST', '/v1/imports', {
      key,
      body: whole.subarray(0, whole.length - 2_000),
      type: 'application/octet-stream',
    });
    await until('the import fails', async () => {
      const { body } = await service.call('GET', `/v1/imports/${answer.body.import.id}`, { key });
      return body.import.status === 'failed';
    });
    const [statement, ...others] = await statements();
    expect(others).toEqual([]);
    const [stored] = await service.runtime.database.query<{ entries: string; lost: string }[]>(
      `SELECT COUNT(*) AS entries, SUM(s.id IS NULL) AS lost FROM transactions t
       JOIN transaction_details d ON d.transaction_id = t.id LEFT JOIN statements s ON s.id = d.statement_id
       WHERE t.account_id = ?`,
      [accountId],
    );
    expect(Number(stored?.entries)).toBeGreaterThan(1_000);
    expect(statement).toMatchObject({ entries: Number(stored?.entries), closing_balance: null });
    expect(Number(stored?.lost)).toBe(0);
  });

  it('have no balances, and a warning, when their sums are too large to be stored', async () => {
    const { key, send, statements } = await customer();
    const entry = (n: number) =>
      `<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260302<TRNAMT>999999999999999999.00<FITID>${n}</STMTTRN>`;
    const entries = Array.from({ length: 101 }, (_, n) => entry(n)).join('\n');
    const sent = await send(`OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>TRY
<BANKACCTFROM><ACCTID>${ACCOUNT_IBAN}</BANKACCTFROM><BANKTRANLIST>${entries}</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`);
    expect(sent).toMatchObject({ status: 'done', inserted: 101 });
    const { body } = await service.call('GET', `/v1/imports/${sent.id}/errors`, { key });
    expect(body.warnings.at(-1).message).toContain('more than 18 digits');
    expect(await statements()).toMatchObject([
      { opening_balance: null, closing_balance: null, entries: 101 },
    ]);
  });

  it('that follow each other share no entry, however equal their entries are', async () => {
    const { send, movements } = await customer();
    const first = dayStatement(1, 2, 100, [-45]);
    const second = dayStatement(2, 2, 55, [-45]);
    expect(await send(first)).toMatchObject({ inserted: 1 });
    expect(await send(second)).toMatchObject({ inserted: 1, assumed_duplicates: 0 });
    expect(await send(first)).toMatchObject({ inserted: 0, duplicates: 1 });
    expect(await movements()).toHaveLength(2);
  });

  it('that follow each other may come in reverse order', async () => {
    const { send, movements } = await customer();
    await send(dayStatement(2, 2, 55, [-45]));
    await send(dayStatement(1, 2, 100, [-45]));
    expect(await movements()).toHaveLength(2);
  });

  it('that come again with new numbers after the bank has inserted an entry add only that entry', async () => {
    const { send, movements } = await customer();
    const withReferences = (file: string) => {
      let count = 0;
      return file.replaceAll('NONREF', () => `REF${++count}`);
    };
    await send(withReferences(dayStatement(1, 2, 0, [100, 50])));
    const again = await send(withReferences(dayStatement(1, 2, 0, [777, 100, 50])));
    expect(again).toMatchObject({ inserted: 1, duplicates: 2, assumed_duplicates: 0 });
    expect(await movements()).toHaveLength(3);
  });

  it('without ids and balances are stored again if the sender asks for it', async () => {
    const { send, movements } = await customer();
    const interim = dayReport(2, [100]);
    await send(interim);
    expect(await send(interim)).toMatchObject({ inserted: 0, assumed_duplicates: 1 });
    expect(await send(interim, '?unidentified=store')).toMatchObject({ inserted: 1, assumed_duplicates: 0 });
    expect(await movements()).toHaveLength(2);
  });
});

describe('a CSV file with a balance in each row', () => {
  const HEADING = 'Tarih;Açıklama;Etiket;Tutar;Bakiye;Dekont No\n';
  const row = (day: number, amount: string, balance: string) =>
    `0${day}.03.2026;MARKET;POS;${amount};${balance};\n`;

  it('is stored as a statement with these balances', async () => {
    const { accountId, send, statements } = await customer();
    const rows = [row(2, '-50,25', '49,75'), row(3, '10,00', '59,75')];
    for (const body of [rows.join(''), rows.toReversed().join('')])
      expect(await send(HEADING + body, `?account_id=${accountId}`)).toMatchObject({
        status: 'done',
        warnings: 0,
      });
    expect(await statements()).toMatchObject([
      { from: '2026-03-02', to: '2026-03-03', opening_balance: '100.00', closing_balance: '59.75' },
    ]);
  });

  it('has a warning for a row that contradicts its balance', async () => {
    const { accountId, send } = await customer();
    const body = HEADING + row(2, '-50,2', '49,75') + row(3, '10,00', '59,75') + row(4, '1,00', '60,70');
    expect(await send(body, `?account_id=${accountId}`)).toMatchObject({
      status: 'done',
      inserted: 3,
      warnings: 1,
    });
  });
});

it("a failed check of one account's statements does not keep other accounts from being checked", async () => {
  const { database } = service.runtime;
  const [first, second] = [await customer(), await customer()];
  for (const { send } of [first, second]) {
    await send(dayStatement(1, 2, 100, [50]));
    await send(dayStatement(3, 4, 120, [1]));
  }
  await database.query('UPDATE statement_checks SET due_at = NOW(6) - INTERVAL account_id MINUTE');
  // The check of the account that comes first cannot be finished.
  const [{ account_id: failing } = { account_id: '' }] = await database.query<{ account_id: string }[]>(
    'SELECT account_id FROM statement_checks WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1',
  );
  const holder = database.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT account_id FROM statement_checks WHERE account_id = ? FOR UPDATE', [failing]);
  await expect(checkStatements(database)).rejects.toThrow('Lock wait timeout');
  await holder.rollbackTransaction();
  await holder.release();
  const other = failing === first.accountId ? second : first;
  expect(await storedEvents(service, other.id, 'statement.gap')).toHaveLength(1);
});
