import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../support/until.ts';
import { documentOf, reasonOf, runHere, spawnCli } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService();
const { asOperator, withKey, importMovements, createWebhook } = running;

const clientEnvironment = () => ({
  LEDGERBELL_API_KEY: running.customer.key,
  LEDGERBELL_URL: running.url,
});

async function createFeed(): Promise<string> {
  const made = await withKey('webhooks', 'create', '--title', 'Kasa', '--delivery', 'pull', '--json');
  return String(documentOf(made).webhook.id);
}

const countsOf = async (id: string) =>
  documentOf(await withKey('webhooks', 'show', id, '--json')).webhook.deliveries;

/** `ledgerbell feed` in a process of its own. */
function startFeed(args: readonly string[], env: Record<string, string>) {
  const child = spawnCli(['feed', ...args], env);
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  if (child.stdout === null) throw new Error('the command has no output to read');
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const notes: string[] = [];
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => notes.push(line));
  return { child, ended, lines, notes };
}

/** The environment of a command as the operator, or with an API key. */
const environmentOf = (access: string): Record<string, string> =>
  access === 'with an API key' ? clientEnvironment() : running.environment;

const idsOf = (lines: readonly string[]): string[] => lines.map((line) => JSON.parse(line).id);

describe.each(['as the operator', 'with an API key'])('ledgerbell feed %s', (access) => {
  const environment = () => environmentOf(access);
  const feed = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere(['feed', ...args], environment());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.split('\n').filter((line) => line !== '');
  };

  it('prints each event once, acknowledges it, and ends with --once', async () => {
    const id = await createFeed();
    await importMovements(205);
    const lines = await feed(id, '--once');
    expect(new Set(idsOf(lines)).size).toBe(205);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      id: expect.stringMatching(new RegExp(`^msg_${id}-`)),
      timestamp: expect.any(Number),
      body: expect.objectContaining({ amount: '1250.00' }),
    });
    expect(await countsOf(id)).toMatchObject({ pending: 0, delivered: 205 });
    expect(await feed(id, '--once')).toEqual([]);
  });

  it('acknowledges nothing with --no-acknowledge', async () => {
    const id = await createFeed();
    await importMovements(3);
    const lines = await feed(id, '--no-acknowledge');
    expect(lines).toHaveLength(3);
    expect(await feed(id, '--no-acknowledge')).toEqual(lines);
    expect(await countsOf(id)).toMatchObject({ pending: 3, delivered: 0 });
  });

  it('waits for events until it is stopped, and has acknowledged what it has printed', async () => {
    const id = await createFeed();
    const { child, ended, lines } = startFeed([id], environment());
    await importMovements(2);
    await until('both are printed', () => lines.length === 2);
    await importMovements(1);
    await until('the third is printed', () => lines.length === 3);
    child.kill('SIGINT');
    expect((await ended)[0]).toBe(0);
    expect(await countsOf(id)).toMatchObject({ pending: 0, delivered: 3 });
  });
});

describe('ledgerbell feed', () => {
  it('does not acknowledge events whose lines nobody has read', async () => {
    const id = await createFeed();
    await importMovements(3);
    const { child, ended } = startFeed([id, '--once'], clientEnvironment());
    child.stdout?.destroy();
    expect((await ended)[0]).toBe(0);
    expect(await countsOf(id)).toMatchObject({ pending: 3, delivered: 0 });
  });

  it('does not run ahead of a reader that has stopped reading', async () => {
    const id = await createFeed();
    for (let count = 0; count < 4; count += 1) await importMovements(900);
    const { child, lines } = startFeed([id, '--once'], clientEnvironment());
    child.stdout?.pause();
    const seen: number[] = [];
    await until('it stands still', async () => {
      seen.push((await countsOf(id)).delivered);
      return seen.length > 20 && new Set(seen.slice(-20)).size === 1 && seen.at(-1) !== 0;
    });
    expect(seen.at(-1)).toBeLessThan(2_600);
    child.stdout?.resume();
    await until('all are printed', () => lines.length === 3_600);
    await until('all are acknowledged', async () => (await countsOf(id)).delivered === 3_600);
  });

  it('goes back with a replay', async () => {
    const id = await createFeed();
    const { child, ended, lines } = startFeed([id], clientEnvironment());
    await importMovements(2);
    await until('both are acknowledged', async () => (await countsOf(id)).delivered === 2);
    const replayed = await withKey('replay', '--webhook', id, '--since', '2020-01-01');
    expect(replayed.stdout).toBe(`2 events of webhook ${id} are in its feed again.\n`);
    await until('both are printed again', () => lines.length === 4);
    expect(idsOf(lines.slice(2))).toEqual(idsOf(lines.slice(0, 2)));
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(await countsOf(id)).toMatchObject({ pending: 0, delivered: 2 });
  });

  it('says that a webhook with an endpoint has no feed', async () => {
    const id = await createWebhook('/pushed');
    expect(reasonOf(await withKey('feed', id, '--once'))).toContain(
      'Only a webhook with the delivery "pull"',
    );
  });
});

describe.each(['as the operator', 'with an API key'])(
  'ledgerbell feed %s, when the service ends',
  (access) => {
    const environment = () => environmentOf(access);

    it('waits for a service that is started again, says so once, and prints each event once', async () => {
      const id = await createFeed();
      const { child, ended, lines, notes } = startFeed([id], environment());
      await importMovements(2);
      await until('both are printed', () => lines.length === 2);
      const startAgain = await running.end();
      await until('it says so', () => notes.length === 1);
      await startAgain();
      await importMovements(3);
      await until('all are printed', () => lines.length >= 5);
      child.kill('SIGINT');
      expect((await ended)[0]).toBe(0);
      expect(new Set(idsOf(lines)).size).toBe(5);
      expect(lines).toHaveLength(5);
      expect(notes).toEqual([
        expect.stringMatching(
          /^(Nothing answers|No running service) .* The feed goes on once the service answers\.$/,
        ),
      ]);
      expect(await countsOf(id)).toMatchObject({ pending: 0, delivered: 5 });
    });

    it('says that events may come again if the service does not answer when it ends', async () => {
      const id = await createFeed();
      const { child, ended, lines, notes } = startFeed([id], environment());
      await importMovements(1);
      await until('it is printed', () => lines.length === 1);
      const startAgain = await running.end();
      onTestFinished(startAgain);
      await until('it waits', () => notes.length === 1);
      child.kill('SIGINT');
      expect((await ended)[0]).toBe(1);
      expect(notes.at(-1)).toContain('may not be acknowledged');
    });

    it('ends at once if the service does not answer at the beginning', async () => {
      const startAgain = await running.end();
      onTestFinished(startAgain);
      const { code, stderr } = await runHere(['feed', '1'], environment());
      expect(code).toBe(1);
      expect(stderr).toMatch(/Nothing answers at|No running service/);
    });

    it('ends if it is refused, as when its webhook is deleted', async () => {
      const id = await createFeed();
      const { ended, lines, notes } = startFeed([id], environment());
      await importMovements(1);
      await until('it is printed', () => lines.length === 1);
      expect((await withKey('webhooks', 'delete', id, '--yes')).code).toBe(0);
      expect((await ended)[0]).toBe(1);
      expect(notes).toHaveLength(1);
    });
  },
);

describe.each(['as the operator', 'with an API key'])('a pulled webhook %s', (access) => {
  const run = (...args: string[]) => (access === 'with an API key' ? withKey : asOperator)(...args);

  it('is shown without an endpoint, with the time of its last acknowledgement', async () => {
    const id = await createFeed();
    const shown = (await run('webhooks', 'show', id)).stdout;
    expect(shown).toMatch(/^delivery +pull$/m);
    expect(shown).toMatch(/^acknowledged +never$/m);
    expect(shown).not.toMatch(/^(endpoint|circuit|ordered|rate limit|last error) /m);
    await importMovements(1);
    await run('feed', id, '--once');
    expect((await run('webhooks', 'show', id)).stdout).toMatch(/^acknowledged +20\d\d-/m);
    const list = await run(
      'webhooks',
      'list',
      ...(access === 'with an API key' ? [] : ['--customer', running.customer.id]),
    );
    expect(list.stdout).toMatch(new RegExp(`^ *${id} .* pull$`, 'm'));
  });

  it('has the sample of a test in its feed', async () => {
    const id = await createFeed();
    expect(await run('webhooks', 'test', id)).toEqual({
      code: 0,
      stdout: 'The sample is the next event of the feed.\n',
      stderr: '',
    });
    const { stdout } = await run('feed', id, '--once');
    expect(JSON.parse(stdout)).toMatchObject({ id: expect.stringMatching(/^msg_test_/) });
  });

  it('is replayed from a moment on', async () => {
    const id = await createFeed();
    await importMovements(1);
    await run('feed', id, '--once');
    const replay = (...args: string[]) => run('replay', '--webhook', id, '--since', '2020-01-01', ...args);
    expect((await replay('--dry-run')).stdout).toBe(
      `1 event of webhook ${id} would be in its feed again. Nothing was changed.\n`,
    );
    expect(reasonOf(await replay('--status', 'failed'))).toContain('--status must be left out');
    expect((await replay()).stdout).toBe(`1 event of webhook ${id} is in its feed again.\n`);
    const { replays } = documentOf(await run('replays', 'list', '--webhook', id, '--json'));
    expect(replays).toMatchObject([{ state: 'done', total: 1, sent: 1, left: 0 }]);
  });
});

it('a webhook needs an endpoint, unless it is pulled', async () => {
  expect(reasonOf(await withKey('webhooks', 'create', '--title', 'Kasa'))).toBe(
    'error: --endpoint is required.',
  );
  const args = ['--delivery', 'pull', '--endpoint', 'https://example.com/'];
  expect(reasonOf(await withKey('webhooks', 'create', '--title', 'Kasa', ...args))).toContain(
    '--endpoint must be left out',
  );
});
