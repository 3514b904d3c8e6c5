import { afterEach, describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import type { Role } from '../../src/database/runtime.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { startImporterWorker } from '../../src/intake/worker.ts';
import { useImports } from '../intake/sent-imports.ts';
import { importDone, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

// No importer: until a test starts one, everything that is stored was stored inline.
const service = useService({ roles: ['api', 'delivery'] });
const { customerWithAccount, send, query, storedRows } = useImports(service);
const receiver = useReceiver();

let importer: Role | undefined;
afterEach(async () => {
  await importer?.stop();
  importer = undefined;
});

describe('a small import that cannot be stored inline', () => {
  /** Checks that an import is accepted and not stored yet. `storedByImporter` starts an importer and checks that it is stored. */
  async function expectStaged(key: string, customerId: string, answer: Awaited<ReturnType<typeof send>>) {
    expect([answer.status, answer.body.import.status]).toEqual([202, 'queued']);
    expect(await storedRows(customerId)).toBe(0);
    return {
      async storedByImporter() {
        importer = startImporterWorker(service.runtime, createStatementFormats([], READ_SETTINGS));
        const done = await importDone(service, key, answer.body.import.id);
        expect(done).toMatchObject({ received: 1, inserted: 1 });
        expect(await storedRows(customerId)).toBe(1);
      },
    };
  }

  /** Waits for a transaction that has inserted its movements and is updating the accounts. @returns its connection. */
  const storing = () =>
    until('movements stored, and not committed', async () => {
      const [waiting] = await query<{ id: string }>(
        `SELECT id FROM information_schema.processlist
         WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%UPDATE accounts a %'`,
        [],
      );
      return waiting;
    });

  it('is staged when the import lock is held', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const holder = service.runtime.database.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
    const staged = await expectStaged(key, customerId, await send(key, [movement(accountId)]));
    await holder.rollbackTransaction();
    await holder.release();
    await staged.storedByImporter();
  });

  it('is staged when it loses a deadlock', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const holder = service.runtime.database.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SELECT 1 FROM accounts WHERE id = ? FOR UPDATE', [accountId]);
    // InnoDB rolls back the transaction that has changed less: the import.
    const ballast = Array.from({ length: 200 }, (_, i) => [customerId, `ballast ${i}`]);
    await holder.query('INSERT INTO banks (customer_id, name) VALUES ?', [ballast]);
    const answer = send(key, [movement(accountId)]);
    await storing();
    await holder.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
    const staged = await expectStaged(key, customerId, await answer);
    await holder.rollbackTransaction();
    await holder.release();
    await staged.storedByImporter();
  });

  it('is staged when MySQL refuses a movement, and does not delay the next import', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const { database } = service.runtime;
    await database.query(
      `CREATE TRIGGER refuse BEFORE INSERT ON transactions FOR EACH ROW
       IF NEW.name = 'refused' THEN SIGNAL SQLSTATE '45000'; END IF`,
    );
    const refused = await send(key, [movement(accountId, { name: 'refused' })]);
    const staged = await expectStaged(key, customerId, refused);
    const next = await customerWithAccount();
    expect((await send(next.key, [movement(next.accountId)])).body.import.status).toBe('done');
    await database.query('DROP TRIGGER refuse');
    await staged.storedByImporter();
  });

  it('is answered with 503 when its connection is lost, and nothing of it is stored', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    await subscribe(service, key, `${receiver.url}/lost`);
    const holder = service.runtime.database.createQueryRunner();
    await holder.query('LOCK TABLES accounts READ');
    const answer = send(key, [movement(accountId)], { 'Idempotency-Key': 'lost' });
    const { id } = await storing();
    await service.runtime.database.query(`KILL ${id}`);
    await holder.query('UNLOCK TABLES');
    await holder.release();
    expectProblem(await answer, 503);
    expect(await query('SELECT id FROM imports WHERE customer_id = ?', [customerId])).toEqual([]);
    expect(await storedRows(customerId)).toBe(0);
    const again = await send(key, [movement(accountId)], { 'Idempotency-Key': 'lost' });
    expect(again.body.import).toMatchObject({ status: 'done', inserted: 1, deliveries: 1 });
    await until('its POST', () => receiver.at('/lost').length === 1);
  });
});
