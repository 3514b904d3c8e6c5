import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { withdrawn } from '../../intake/withdrawals/withdrawn.ts';
import { useDatabase } from '../../support/database.ts';
import { countsOf, createFeed, type Feed } from '../../support/feeds.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { findMissing } from './language.ts';
import { createProject, type Environment, type Launched, type Project } from './project.ts';
import { installSdk } from './sdk.ts';

const PAGE = 'pull.md';
/** Preparing compiles. Milliseconds. */
const PREPARING = 600_000;

const service = useService();
const { database, url } = useDatabase({ migrated: false });

interface Program {
  language: string;
  install(project: Project): Promise<unknown>;
  launch(project: Project, env: Environment): Launched;
  /** The least time until it repeats a refused request, whatever Retry-After says. Milliseconds, less the inaccuracy of timers. */
  leastPause: number;
  /** The ids that the program has stored, in the order of their coming. */
  readStored(project: Project): Promise<string[]>;
}

const LIST_SQLITE = `
import sqlite3
for row in sqlite3.connect("inbox.db").execute("SELECT id FROM inbox ORDER BY rowid"):
    print(row[0])`;

const PROGRAMS: Program[] = [
  {
    language: 'JavaScript',
    install: ({ directory }) => installSdk(directory),
    launch: (project, env) =>
      project.launch(process.execPath, ['--import', 'tsx', 'pull.mjs'], {
        ...env,
        INBOX_DATABASE_URL: url,
      }),
    // The SDK has its own, with a random part.
    leastPause: 0,
    async readStored() {
      const rows = await database.query<{ id: string }[]>('SELECT id FROM inbox ORDER BY LENGTH(id), id');
      return rows.map(({ id }) => id);
    },
  },
  {
    language: 'Python',
    install: (project) => project.run('python3', ['--version']),
    launch: (project, env) => project.launch('python3', ['pull.py'], env),
    leastPause: 950,
    async readStored(project) {
      const said = await project.run('python3', ['-c', LIST_SQLITE]);
      return said.trim().split('\n');
    },
  },
  {
    language: 'Go',
    async install(project) {
      await project.run('go', ['mod', 'init', 'reader']);
      await project.run('go', ['build', '-o', 'reader', '.']);
    },
    launch: (project, env) => project.launch('./reader', [], env),
    leastPause: 950,
    async readStored({ directory }) {
      const lines = (await readFile(join(directory, 'inbox.jsonl'), 'utf8')).trim().split('\n');
      return lines.map((line) => JSON.parse(line).id);
    },
  },
];

/** The ids of all events of a feed: those of the movements that are stored. */
async function listIds({ id: webhookId, key }: Feed): Promise<string[]> {
  const ids: string[] = [];
  for (let path: string | undefined = '/v1/transactions?starts=2000-01-01'; path !== undefined; ) {
    const { body, headers } = await service.call('GET', path, { key });
    ids.push(...body.transactions.map(({ id }: { id: number }) => `msg_${webhookId}-${id}`));
    path = /<([^>]*)>/.exec(headers.get('link') ?? '')?.[1];
  }
  return ids;
}

/** Passes the requests of a program on to the service. */
async function startProxy() {
  /** What the next requests get: a status, or 0 for a lost connection. */
  const troubles: number[] = [];
  /** How long a program waits after such a status. Milliseconds. */
  const pauses: number[] = [];
  let refusedAt: number | null = null;
  /** What the program sends as its cursor from now on; null: its own. */
  let cursor: string | null = null;
  let hook: (() => Promise<void>) | null = null;
  const proxy = createServer(async (request, response) => {
    const target = new URL(request.url ?? '', service.url);
    if (refusedAt !== null) pauses.push(performance.now() - refusedAt);
    refusedAt = null;
    const trouble = troubles.shift();
    if (trouble === 0) return void request.socket.destroy();
    if (trouble !== undefined) {
      refusedAt = performance.now();
      return void response.writeHead(trouble, { 'Retry-After': '0' }).end();
    }
    if (cursor !== null && target.searchParams.has('cursor')) target.searchParams.set('cursor', cursor);
    const run = target.searchParams.has('cursor') ? hook : null;
    if (run !== null) {
      hook = null;
      await run();
      // The program has ended, and its last request still arrives.
      target.searchParams.set('wait', '0');
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const headers = { Authentication: String(request.headers.authentication) };
    const signal = run === null ? gone.signal : null;
    const answer = await fetch(target, { headers, signal }).catch(() => null);
    if (answer === null) return void response.destroy();
    const body = await answer.text().catch(() => '');
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    troubles,
    pauses,
    sendCursor(other: string) {
      cursor = other;
    },
    /** Calls a function when the next request with a cursor has come, before the service gets it. */
    beforeAcknowledgement: (run: () => Promise<void>) =>
      new Promise<void>((resolve, reject) => {
        hook = () => run().then(resolve, reject);
      }),
  };
}

describe.each(PROGRAMS)('the $language program of pull.md', ({ install, launch, readStored, leastPause }) => {
  let project: Project;
  let missing: string | null = null;
  beforeAll(async () => {
    project = await createProject(PAGE, { form: false });
    missing = await findMissing(PAGE, () => install(project));
  }, PREPARING);
  beforeEach(({ skip }) => skip(missing !== null, missing ?? ''));
  afterAll(() => project?.remove());

  it('misses no event and stores none twice, although it is killed, requests fail and the feed is replayed', async () => {
    const feed = await createFeed(service);
    const proxy = await startProxy();
    const start = () =>
      launch(project, {
        LEDGERBELL_URL: proxy.url,
        LEDGERBELL_KEY: feed.key,
        WEBHOOK_ID: String(feed.id),
      });
    await feed.post('/test');
    await feed.store(3);
    let isOver = false;
    const importing = (async () => {
      while (!isOver) await feed.store(7, { description: 'ÇİĞDEM ŞEN <&> 🎂' });
    })();
    let program = start();
    const kill = async () => {
      await program.stop();
      program = start();
    };
    const getsOn = async () => {
      const before = (await countsOf(feed)).delivered;
      await until(
        `the program gets on: ${program.said}`,
        async () => program.failure() ?? (await countsOf(feed)).delivered > before,
        60_000,
      );
    };
    for (let count = 0; count < 3; count += 1) {
      // What a program acknowledges must be stored by then, also if it ends in that moment.
      await proxy.beforeAcknowledgement(kill);
      await getsOn();
      await sleep(Math.random() * 50);
      await kill();
      await getsOn();
    }
    proxy.troubles.push(503, 429, 0);
    await until('all requests fail', () => proxy.troubles.length === 0, 60_000);
    for (const pause of proxy.pauses) expect(pause).toBeGreaterThan(leastPause);
    isOver = true;
    await importing;
    const isAcknowledged = async () => program.failure() ?? (await countsOf(feed)).pending === 0;
    await until('all is acknowledged', isAcknowledged, 60_000);
    // The program waits for events now, with a cursor that the replay makes invalid.
    await feed.post('/replay', { since: '2020-01-01 00:00:00' });
    await until('all is acknowledged again', isAcknowledged, 60_000);
    await feed.store(1);
    await until('the last is acknowledged', isAcknowledged, 60_000);
    await program.stop();
    expect(await readStored(project)).toEqual(await listIds(feed));
    expect(program.said).not.toContain('msg_test_');
  }, 180_000);

  it('has the movements that the listing shows, and the withdrawals of others', async () => {
    const feed = await createFeed(service, {
      event: undefined,
      events: ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'],
    });
    const start = () =>
      launch(project, {
        LEDGERBELL_URL: service.url,
        LEDGERBELL_KEY: feed.key,
        WEBHOOK_ID: String(feed.id),
      });
    const isAcknowledged = async () => (await countsOf(feed)).pending === 0;
    const newestImport = async () => {
      const { body } = await service.call('GET', '/v1/imports', { key: feed.key });
      return `imports/${body.imports[0].id}`;
    };
    let program = start();
    await feed.store(2);
    const read = await newestImport();
    await feed.store(1);
    await until('all is acknowledged', isAcknowledged, 60_000);
    await program.stop();
    await feed.store(2);
    await withdrawn(service, feed.key, await newestImport());
    await withdrawn(service, feed.key, read);
    program = start();
    await until('all is acknowledged again', isAcknowledged, 60_000);
    await program.stop();
    const stored = (await readStored(project)).filter((id) => id.startsWith(`msg_${feed.id}-`));
    const isListed = (id: string) => !id.endsWith('-withdrawn') && !stored.includes(`${id}-withdrawn`);
    expect(stored.filter(isListed)).toEqual(await listIds(feed));
    expect(stored.filter((id) => id.endsWith('-withdrawn'))).toHaveLength(4);
  }, 180_000);

  it('ends at a cursor that the service does not know, and says what the service answers', async () => {
    const [feed, other] = [await createFeed(service), await createFeed(service)];
    await other.store(1);
    const { body } = await service.call('GET', `/v1/webhooks/${other.id}/feed`, { key: other.key });
    const proxy = await startProxy();
    proxy.sendCursor(body.cursor);
    const refused = await service.call('GET', `/v1/webhooks/${feed.id}/feed?cursor=${body.cursor}`, {
      key: feed.key,
    });
    expect(refused.status).toBe(422);
    const program = launch(project, {
      LEDGERBELL_URL: proxy.url,
      LEDGERBELL_KEY: feed.key,
      WEBHOOK_ID: String(feed.id),
    });
    await feed.store(1);
    const hasEnded = () => {
      try {
        program.failure();
        return false;
      } catch {
        return true;
      }
    };
    await until('the program has ended', hasEnded, 60_000);
    expect(program.said).toContain(refused.body.errors[0].message);
    expect(program.said).toContain('422');
    await program.stop();
  }, 180_000);
});

describe('a stream', () => {
  it('has events with their cursors, and is resumed and acknowledged with Last-Event-ID', async () => {
    const feed = await createFeed(service);
    await feed.store(3);
    const connect = async (headers: Record<string, string> = {}) => {
      const aborting = new AbortController();
      onTestFinished(() => aborting.abort());
      const { body } = await fetch(`${service.url}/v1/webhooks/${feed.id}/feed`, {
        headers: { Authentication: feed.key, Accept: 'text/event-stream', ...headers },
        signal: aborting.signal,
      });
      let text = '';
      const decoder = new TextDecoder();
      // The stream goes on until the test has ended.
      (async () => {
        for await (const bytes of body ?? []) text += decoder.decode(bytes, { stream: true });
      })().catch(() => {});
      return () =>
        [...text.matchAll(/^id: (.*)\ndata: (.*)\n\n/gm)].map(([, cursor = '', data = '']) => ({
          cursor,
          id: JSON.parse(data).id as string,
        }));
    };
    const ids = await listIds(feed);
    const first = await connect();
    await until('all come', () => first().length === 3);
    expect(first().map(({ id }) => id)).toEqual(ids);
    const second = await connect({ 'Last-Event-ID': first()[1]?.cursor ?? '' });
    await until('the rest comes', () => second().length === 1);
    expect(second()[0]?.id).toBe(ids[2]);
    expect(await countsOf(feed)).toMatchObject({ pending: 1, delivered: 2 });
  });
});
