import { it } from 'vitest';
import { createDice } from '../durability/dice.ts';
import { runStatementClient } from '../durability/load/statement-client.ts';
import { newClientRecord } from '../durability/load/upload.ts';
import { createStatementCustomer } from '../intake/statement-files.ts';
import { useService } from '../support/service.ts';
import { expectRightBooks } from './right-books.ts';

const service = useService({ roles: ['api'] });

/** `HISTORIES=100 npx vitest run test/books/statement-days.test.ts` tries more. */
const HISTORIES = Number(process.env.HISTORIES ?? 2);
/** The first ones have failed before. */
const SEEDS = [1_006, 20_006, ...Array.from({ length: Math.max(0, HISTORIES - 2) }, (_, seed) => seed)];
const FILES = 60;

it(
  `the books are right after each of ${FILES} interim and final statements, in ${HISTORIES} histories`,
  async () => {
    for (const seed of SEEDS) {
      const { customerId, accountId, importFile } = await createStatementCustomer(service);
      const stopping = new AbortController();
      let files = 0;
      await runStatementClient({
        name: `h${seed}`,
        customerId: String(customerId),
        account: { id: accountId, iban: 'TR330006100519786457841326' },
        rate: Number.POSITIVE_INFINITY,
        dice: createDice(seed),
        record: newClientRecord(),
        stopping: stopping.signal,
        async send({ content }) {
          await importFile(content);
          files += 1;
          await expectRightBooks(service, customerId, `seed ${seed}, file ${files}`);
          if (files === FILES) stopping.abort();
          return true;
        },
      });
    }
  },
  HISTORIES * 60_000,
);
