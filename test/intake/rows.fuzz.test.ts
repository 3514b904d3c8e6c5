import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, importDone } from '../support/movements.ts';
import { send } from '../support/raw-http.ts';
import { useOwnService } from '../support/service.ts';
import { type File, file, MARK, seam } from './ndjson-files.ts';
import { ACCOUNT, FOREIGN, type Line, type Stored } from './ndjson-lines.ts';

/** Number of generated files. */
const RUNS = 24;
const SEED = 20_261_231;

const service = useOwnService({
  because: 'it counts the imports of all customers',
  roles: ['api', 'importer'],
});

let key: string;
let foreign: string;
let sent = 0;

beforeAll(async () => {
  ({ api_key: key } = await service.customer());
  const { api_key } = await service.customer('Yabancı');
  foreign = (await createAccount(service, api_key)).id;
});

function* cut(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  let start = 0;
  for (const length of lengths) {
    if (start + length >= bytes.length) break;
    yield bytes.subarray(start, start + length);
    start += length;
  }
  yield bytes.subarray(start);
}

function assemble(account: string, { mark, lines, end, ended }: File): Buffer {
  const body = lines.flatMap(({ bytes }, index) =>
    index < lines.length - 1 || ended ? [bytes, Buffer.from(end)] : [bytes],
  );
  const text = Buffer.concat(mark ? [MARK, ...body] : body).toString('latin1');
  return Buffer.from(text.replaceAll(ACCOUNT, account).replaceAll(FOREIGN, foreign), 'latin1');
}

const versionOf = ({ dc, amount, date_issue }: Stored) => `${dc} ${amount} ${date_issue}`;

/** The expected result: the movements in order, each id once, and the numbers of the rejected lines. */
function expected(lines: readonly Line[]) {
  const seen = new Map<string, Stored>();
  const stored: Stored[] = [];
  let duplicates = 0;
  let conflicts = 0;
  for (const it of lines) {
    if (it.is !== 'good') continue;
    const id = it.stored.unique_id;
    const known = id === null ? undefined : seen.get(id);
    if (known === undefined) stored.push(it.stored);
    else if (versionOf(known) === versionOf(it.stored)) duplicates += 1;
    else conflicts += 1;
    if (id !== null && known === undefined) seen.set(id, it.stored);
  }
  const refused = lines.flatMap(({ is }, index) => (is === 'bad' ? [index + 1] : []));
  const received = lines.filter(({ is }) => is !== 'blank').length;
  return {
    stored,
    refused,
    counts: { received, inserted: stored.length, duplicates, conflicts, rejected: refused.length },
  };
}

const STORED = `
  SELECT dc, code, amount, balance, description, date_issue, opponent_id, opponent_iban, name,
    IF(LEFT(unique_id, 8) = 'content:', NULL, CONVERT(unique_id USING utf8mb4)) AS unique_id
  FROM transactions WHERE account_id = ? ORDER BY id`;

async function sendFile(account: string, bytes: Buffer, cuts: readonly number[]) {
  const answer = await send(`${service.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/x-ndjson' },
    body: cut(bytes, cuts),
  });
  expect(answer.status).toBe(202);
  sent += 1;
  const done = await importDone(service, key, answer.body.import.id);
  const { body } = await service.call('GET', `/v1/imports/${done.id}/errors`, { key });
  const refused = new Set<number>(body.errors.map((error: { line: number }) => error.line));
  const stored = await service.runtime.database.query<Stored[]>(STORED, [account]);
  return { done, refused: [...refused].sort((a, b) => a - b), stored: stored.map((row) => ({ ...row })) };
}

/** Sends a file to a new account, and checks what is stored, rejected and counted. */
async function expectStored(content: File): Promise<void> {
  const { id: account } = await createAccount(service, key);
  const bytes = assemble(account, content);
  const model = expected(content.lines);
  const first = await sendFile(account, bytes, content.cuts);
  expect(first).toMatchObject({
    refused: model.refused,
    done: { status: 'done', error: null, ...model.counts },
  });
  expect(first.stored).toEqual(model.stored);
  if (!content.again) return;

  const second = await sendFile(account, bytes, []);
  const { inserted, duplicates } = model.counts;
  const known = { ...model.counts, inserted: 0, duplicates: inserted + duplicates };
  expect(second).toMatchObject({ refused: model.refused, done: { status: 'done', error: null, ...known } });
  expect(second.stored).toEqual(model.stored);
}

describe('an NDJSON file of any lines', () => {
  it('has its good lines stored once and unchanged, and its other lines listed by number', async () => {
    await fc.assert(fc.asyncProperty(file, expectStored), { numRuns: RUNS, seed: SEED });
  });

  it('is read correctly wherever a part ends', async () => {
    await fc.assert(fc.asyncProperty(seam, expectStored), { numRuns: RUNS / 2, seed: SEED });
  });

  it('leaves nothing behind: no unfinished import, no bytes, and no movements of another customer', async () => {
    const count = async (table: string, where: string) => {
      const [row] = await service.runtime.database.query<{ n: string }[]>(
        `SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`,
      );
      return row?.n;
    };
    expect(await count('imports', "status = 'done'")).toBe(String(sent));
    expect(await count('imports', "status <> 'done'")).toBe('0');
    expect(await count('import_parts', 'TRUE')).toBe('0');
    expect(await count('transactions', `account_id = ${foreign}`)).toBe('0');
  });
});
