import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { writeQuietly } from '../sources/folder-source.ts';
import { documentOf, reasonOf } from './command.ts';
import { useRunningService } from './running-service.ts';

const sourcesDir = await mkdtemp(join(tmpdir(), 'ledgerbell-cli-sources-'));
afterAll(() => rm(sourcesDir, { recursive: true, force: true }));

const running = useRunningService({ SOURCES_DIR: sourcesDir });
const { asOperator, withKey } = running;

describe('ledgerbell status', () => {
  const status = async () => {
    const { code, stdout } = await asOperator('status', '--json');
    return { code, ...JSON.parse(stdout) };
  };

  it('names a source whose last file has failed, until a later file is imported', async () => {
    const options = ['--title', 'Durum', '--kind', 'folder', '--path', 'status', '--cron', '0 0 1 1 *'];
    const account = ['--account', running.customer.account, '--customer', running.customer.id];
    const { source } = documentOf(await asOperator('sources', 'create', ...options, ...account, '--json'));
    const id = String(source.id);
    const inbox = join(sourcesDir, running.customer.id, 'status');
    await mkdir(inbox, { recursive: true });
    const collect = async (name: string, content: string) => {
      await writeQuietly(join(inbox, name), content);
      expect((await asOperator('sources', 'run', id, '--wait')).code).toBe(0);
    };

    await collect('letter.doc', 'Dear Sir or Madam');
    expect(await status()).toMatchObject({
      code: 1,
      problems: ['1 source has brought a file that could not be imported.'],
      troubles: [
        { kind: 'import_failed', scope: 'endpoint' },
        {
          kind: 'source_wrong_file',
          scope: 'installation',
          subject: { type: 'source', id: source.id, title: 'Durum', customer: 'Örnek' },
          sentence: expect.stringContaining('letter'),
        },
      ],
      imports: { failed: 1 },
    });
    expect((await asOperator('status')).stdout).toMatch(
      /^Not well: 1 source has brought a file that could not be imported\. Beside that, 1 import has failed\.\n/,
    );
    // A run that finds nothing says nothing about the file.
    expect((await asOperator('sources', 'run', id, '--wait')).code).toBe(0);
    expect(await status()).toMatchObject({ code: 1, troubles: [{}, { kind: 'source_wrong_file' }] });

    await collect('march.sta', mt940([{ day: 2, amount: 1, reference: 'status' }]));
    expect(await status()).toMatchObject({
      code: 0,
      problems: [],
      troubles: [{ kind: 'import_failed' }],
      imports: { failed: 1 },
    });
  });

  it('does not name a source that is paused', async () => {
    const options = ['--title', 'Boş', '--kind', 'folder', '--path', 'paused', '--cron', '0 0 1 1 *'];
    const owner = ['--customer', running.customer.id, '--json'];
    const { source } = documentOf(await asOperator('sources', 'create', ...options, ...owner));
    await writeFile(join(sourcesDir, running.customer.id, 'paused'), 'a file');
    expect((await asOperator('sources', 'run', String(source.id), '--wait')).code).toBe(1);
    expect(await status()).toMatchObject({ code: 1, problems: ['1 source is failing.'] });
    await asOperator('sources', 'pause', String(source.id));
    expect(await status()).toMatchObject({ code: 0, problems: [] });
  });
});

describe.each(['as the operator', 'with an API key'])('%s', (access) => {
  const http = access === 'with an API key';
  const who = () => (http ? [] : ['--customer', running.customer.id]);
  const run = (...args: string[]) => (http ? withKey(...args) : asOperator(...args));
  const answer = async (...args: string[]) => documentOf(await run(...args, '--json'));
  const path = http ? 'with-key' : 'operator';

  it('a source is created, listed, shown, run, paused, enabled and deleted', async () => {
    const options = [
      '--title',
      'Gelen',
      '--kind',
      'folder',
      '--path',
      path,
      '--account',
      running.customer.account,
    ];
    const schedule = ['--cron', '0 0 1 1 *', '--time-zone', 'Europe/Istanbul'];
    const { source } = await answer('sources', 'create', ...options, ...schedule, ...who());
    expect(source).toMatchObject({
      title: 'Gelen',
      kind: 'folder',
      settings: { path },
      schedule: { cron: '0 0 1 1 *', time_zone: 'Europe/Istanbul' },
      account_id: Number(running.customer.account),
      status: 'active',
    });
    const id = String(source.id);
    expect((await answer('sources', 'list', ...who())).sources).toContainEqual(source);
    expect((await answer('sources', 'show', id)).source).toEqual(source);

    const inbox = join(sourcesDir, running.customer.id, path);
    await mkdir(inbox, { recursive: true });
    await writeQuietly(join(inbox, 'march.sta'), mt940([{ day: 2, amount: 1, reference: path }]));
    const { run: ended } = await answer('sources', 'run', id, '--wait');
    expect(ended).toMatchObject({ status: 'done', files: 1, imports: [{ file: 'march.sta' }] });
    expect((await answer('sources', 'runs', id)).runs).toEqual([ended]);
    const spoken = await run('sources', 'runs', id);
    expect(spoken.stdout).toMatch(/id +status +started +finished +files +imports +error\n/);
    expect((await run('sources', 'run', id, '--wait')).stdout).toMatch(/^Run \d+ is done: 0 files\.\n$/);

    const imported = String(ended.imports[0].id);
    const again = ['sources', 'collect-again', id, '--import', imported];
    expect(reasonOf(await run(...again))).toMatch(/^error: Import \d+ was not withdrawn as a whole\. /);
    await run('imports', 'withdraw', imported, '--reason', 'x', '--wait', '--yes');
    expect((await run(...again, '--wait')).stdout).toMatch(/^Run \d+ is done: 1 file\.\n$/);

    expect((await answer('sources', 'pause', id)).source.status).toBe('paused');
    expect((await answer('sources', 'enable', id)).source.status).toBe('active');
    const shown = await run('sources', 'show', id);
    expect(shown.stdout).toMatch(/schedule +0 0 1 1 \* in Europe\/Istanbul\n/);
    expect(await answer('sources', 'delete', id, '--yes')).toEqual({ status: 'success' });
    expect(reasonOf(await run('sources', 'show', id))).toMatch(
      /^error: (There is no source of that id|This source does not exist), /,
    );
  });

  it('a wrong option is named in the error, and credentials are not repeated', async () => {
    const create = (...args: string[]) =>
      run('sources', 'create', '--title', 'X', '--kind', 'folder', ...args, ...who());
    expect(reasonOf(await create('--path', '../x'))).toMatch(
      /^error: --settings must be a folder such as "inbox"/,
    );
    expect(reasonOf(await create('--path', 'x', '--every', '1s'))).toMatch(
      /^error: --schedule must be an interval/,
    );
    const file = join(sourcesDir, 'credentials.json');
    await writeFile(file, 'hunter2');
    const reason = reasonOf(await create('--path', 'x', '--credentials-file', file));
    expect(reason).toBe('error: --credentials-file must be a JSON object, such as {"password":"…"}.');
  });

  it('a failed run makes the exit code 1', async () => {
    const options = ['--title', 'Kırık', '--kind', 'folder', '--path', `${path}-broken`];
    const { source } = await answer('sources', 'create', ...options, '--cron', '0 0 1 1 *', ...who());
    await writeFile(join(sourcesDir, running.customer.id, `${path}-broken`), 'a file');
    const { code, stdout } = await run('sources', 'run', String(source.id), '--wait');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Run \d+ is failed: 0 files\. The folder \S+ cannot be used\. .*\n$/);
  });
});
