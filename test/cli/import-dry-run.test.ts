import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';
import { documentOf, reasonOf, runCli, runHere } from './command.ts';

const service = useOwnService({ because: 'it counts the rows of all tables' });

let folder: string;
let key: string;
let accountId: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledgerbell-dry-run-'));
  ({ api_key: key } = await service.customer());
  ({ id: accountId } = await createAccount(service, key, { iban: 'TR330006100519786457841326' }));
});

const entries = [
  { day: 2, amount: 250.5, text: 'RENT' },
  { day: 3, amount: -10, text: 'FEE' },
];

async function importFile(name: string, content: string, ...args: string[]) {
  const path = join(folder, name);
  await writeFile(path, content);
  return runHere(['import', path, '--key', key, '--url', service.url, ...args]);
}

const dryRun = (name: string, content: string, ...args: string[]) =>
  importFile(name, content, '--dry-run', ...args);

describe('ledgerbell import --dry-run', () => {
  it('shows the rows, the statement and a summary, and stores nothing', async () => {
    const before = await countRows(service);
    const { code, stdout, stderr } = await dryRun('march.sta', mt940(entries, { closing: 1_241 }));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^line +date +amount +balance +name and description$/);
    expect(lines[1]).toMatch(/^ +\d+ +new +2026-03-02 +Credit +250\.50 +1250\.50 +RENT$/);
    expect(stdout).toMatch(/ TR330006100519786457841326 +1000\.00 +250\.50 +10\.00 +1241\.00 +0\.50 +TRY$/m);
    expect(stdout).toMatch(/^line \d+, warning: The closing balance is 1241\.00, /m);
    expect(lines.at(-2)).toBe(
      'Nothing was stored (mt940): 2 rows, 2 new, 0 known already, 0 rejected; 1 statement, 1 warning.',
    );
    expect(await countRows(service)).toEqual(before);
  });

  it("prints the API's answer with --json, also for standard input", async () => {
    const args = ['import', '-', '--key', key, '--url', service.url, '--dry-run', '--json'];
    const answer = documentOf(await runCli(args, {}, { input: mt940(entries) }));
    expect(answer).toMatchObject({ dry_run: { received: 2, inserted: 2 }, transactions: [{}, {}] });
    const rows = `${JSON.stringify(movement(accountId))}\n`;
    const ndjson = documentOf(await dryRun('rows.ndjson', rows, '--json'));
    expect(ndjson).toMatchObject({ dry_run: { format: 'ndjson', inserted: 1 } });
  });

  it('names new accounts and rejected rows', async () => {
    const other = mt940(entries, { account: 'DE89370400440532013000' });
    const refused = await dryRun('other.sta', other);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(
      /^line \d+, rejected: account DE89370400440532013000 is not one of your accounts/m,
    );
    const created = await dryRun('other.sta', other, '--create-accounts');
    expect(created.code).toBe(0);
    expect(created.stdout).toContain('A new account would be created: DE89370400440532013000 at ');
  });

  it('labels a conflict and a row that is assumed to be known', async () => {
    const stored = movement(accountId, { unique_id: 'seven', amount: '7.00' });
    await importMovements(service, key, [stored]);
    const conflict = await dryRun('conflict.ndjson', `${JSON.stringify({ ...stored, amount: '8.00' })}\n`);
    expect(conflict.stdout).toMatch(/^ +1 +conflict +/m);
    expect(conflict.stdout).toMatch(
      /^line 1, conflict: movement \d+ of the same id is stored as Credit 7\.00 of 2026-01-15$/m,
    );
    expect(conflict.stdout).toContain('0 known already');
    const withoutId = movement(accountId);
    await importMovements(service, key, [withoutId]);
    const assumed = await dryRun('assumed.ndjson', `${JSON.stringify(withoutId)}\n`);
    expect(assumed.stdout).toMatch(/^ +1 +assumed known +/m);
  });

  it('says in one line why a file is refused', async () => {
    expect(reasonOf(await dryRun('letter.txt', 'Dear Sir or Madam'))).toMatch(
      /^error: The file is in no format that is supported\. Supported are MT940/,
    );
  });
});
