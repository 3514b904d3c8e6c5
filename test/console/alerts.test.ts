import { describe, expect, it } from 'vitest';
import type { ProcessSeen } from '../../src/console/heartbeat.ts';
import { findAlerts, headlineOf } from '../../src/console/now/alerts.ts';
import type { Now, Work } from '../../src/console/now/now-reader.ts';
import type { WebhookRow } from '../../src/console/webhooks/webhook-rows.ts';
import type { Health } from '../../src/database/health.ts';
import type { SourceSummary } from '../../src/sources/find-source.ts';
import { NO_WORK } from '../support/no-work.ts';

const AT = new Date('2026-03-01T03:00:00Z');
const minutesAgo = (minutes: number) => new Date(AT.getTime() - minutes * 60_000);

const running = (roles: string[], fields: Partial<ProcessSeen> = {}): ProcessSeen => ({
  name: '',
  roles,
  version: '1.0.0',
  host: 'ev',
  pid: 1,
  cpuPercent: 1,
  loopDelayMs: 1,
  memoryMib: 100,
  startedAt: minutesAgo(60),
  seenSecondsAgo: 1,
  running: true,
  steady: true,
  mysqlProblem: null,
  redisProblem: null,
  clockAhead: 3,
  ...fields,
});

const failing = (id: string, fields: Partial<WebhookRow> = {}): WebhookRow => ({
  id,
  title: 'Depo',
  endpoint: 'https://a.example/',
  event: 'NEW_TRANSACTION',
  customer_id: '1',
  customer: 'Acme',
  status: 'active',
  status_reason: null,
  failing_since: minutesAgo(12),
  consecutive_failures: 5,
  circuit_openings: 1,
  open_until: null,
  last_error: 'answered 503',
  delivered: '0',
  failed: '0',
  to_come: '0',
  pending: '4711',
  ...fields,
});

const source = (id: string, fields: Partial<SourceSummary> = {}): SourceSummary => ({
  id,
  customer_id: '1',
  customer: 'Acme',
  title: 'Ekstre',
  kind: 'sftp',
  status: 'active',
  run_id: null,
  last_run_at: minutesAgo(5),
  next_run_at: null,
  consecutive_failures: 3,
  error: 'The server refused the password.',
  ...fields,
});

const WELL: Health = { mysql: 'ok', redis: 'ok', mysqlRoundTrip: 1, redisRoundTrip: 1, clockAhead: 3 };

const ALL = ['api', 'importer', 'delivery', 'maintenance'];

function now({
  totals = {},
  ...work
}: Omit<Partial<Work>, 'totals'> & { totals?: Partial<Work['totals']> } = {}): Now {
  return {
    at: AT,
    health: WELL,
    hostProblems: [],
    sample: {} as Now['sample'],
    work: {
      oldestPending: null,
      processes: [running(ALL)],
      trouble: [],
      imports: [],
      sources: [],
      sourcesInTrouble: { failing: 0, withWrongFile: 0 },
      openConflicts: 0,
      ...work,
      totals: { ...NO_WORK, ...totals },
    },
  };
}

const sentences = (it: Now) => findAlerts(it).map(({ sentence }) => sentence);
const headline = (it: Now) => headlineOf(findAlerts(it));

describe('the sentence at the top of the console', () => {
  it('says that everything is well', () => {
    expect(headline(now())).toBe('All is well.');
  });

  it('names a single failing webhook, its customer, since when it fails, and its pending deliveries', () => {
    const it = now({ trouble: [failing('12')], totals: { failing: 1, pending: 4711 } });
    expect(headline(it)).toBe(
      'Acme: webhook 12 “Depo” has been failing for 12 min, 4,711 deliveries pending. Last error: answered 503.',
    );
    expect(findAlerts(it)[0]?.link).toEqual({ text: 'Webhook 12', href: '/ops/webhooks/12' });
  });

  it('counts the troubles when there are several', () => {
    const it = now({
      trouble: [failing('12'), failing('13')],
      totals: { failing: 2, importsFailedLately: 2 },
    });
    expect(headline(it)).toBe('3 things are wrong.');
  });

  it('names three failing webhooks and counts the others', () => {
    const trouble = ['1', '2', '3', '4', '5'].map((id) => failing(id));
    const found = sentences(now({ trouble, totals: { failing: 40 } }));
    expect(found).toHaveLength(4);
    expect(found.at(-1)).toBe('37 more webhooks are failing.');
  });

  it('says first that no delivery process is running, with the number of pending deliveries', () => {
    const processes = [
      running(['api', 'importer', 'maintenance']),
      running(['delivery'], { running: false }),
    ];
    const it = now({ processes, trouble: [failing('12')], totals: { failing: 1, pending: 1 } });
    expect(headline(it)).toBe('No delivery process is running. 1 delivery pending.');
    expect(sentences(it)).toHaveLength(2);
  });

  it.each([
    ['api', 'No API process is running. No request is answered.'],
    ['importer', 'No importer is running. 3 imports waiting.'],
    ['maintenance', 'No maintenance process is running. What Redis forgets is not queued again.'],
  ])('says that no process has the role %s', (role, sentence) => {
    const processes = [running(ALL.filter((it) => it !== role))];
    expect(headline(now({ processes, totals: { imports: { queued: 2, running: 1, failed: 0 } } }))).toBe(
      sentence,
    );
  });

  it('says that MySQL cannot be reached, and what follows from that', () => {
    const health = { ...WELL, mysql: 'not available', mysqlRoundTrip: null };
    const it = { ...now(), health, work: null };
    expect(headline(it)).toMatch(/^MySQL cannot be reached\. Nothing is accepted/);
    expect(sentences({ ...it, health: { ...health, redis: 'not available' } })).toHaveLength(2);
  });

  it('says why MySQL refuses writes, and says nothing of processes that cannot write their heartbeats', () => {
    const health = { ...WELL, mysql: 'refuses writes: it is read-only' };
    const processes = [running(ALL, { running: false, seenSecondsAgo: 60 })];
    expect(sentences({ ...now({ processes }), health })).toEqual([
      'MySQL refuses writes: it is read-only. Imports are answered with 503, and deliveries wait. What was accepted is stored in MySQL.',
    ]);
  });

  it('misses no process before another one has written heartbeats for a while', () => {
    const other = running(['delivery', 'importer', 'maintenance'], { running: false, seenSecondsAgo: 60 });
    const back = running(['api'], { steady: false });
    expect(sentences(now({ processes: [back, other] }))).toEqual([]);
    expect(sentences(now({ processes: [{ ...back, steady: true }, other] }))).toHaveLength(3);
    expect(sentences(now({ processes: [other] }))).toEqual([]);
  });

  it('says what other processes see of the servers, and whose clock is wrong', () => {
    const full = 'refuses writes: its disk is full';
    const processes = [
      running(ALL),
      running(['delivery'], { name: 'delivery-1', mysqlProblem: full, redisProblem: 'not available' }),
      running(['delivery'], { name: 'delivery-2', mysqlProblem: full, clockAhead: -3_600_000 }),
    ];
    expect(sentences(now({ processes }))).toEqual([
      'MySQL refuses writes: its disk is full, as delivery-1 on ev and 1 other process saw.',
      'Redis cannot be reached, as delivery-1 on ev saw.',
      "The clock of delivery-2 on ev is 3600 s behind MySQL's. Signatures carry this clock; set both by NTP.",
    ]);
    const all = processes.map((it) => ({ ...it, mysqlProblem: full, redisProblem: null, clockAhead: null }));
    expect(sentences(now({ processes: all }))).toEqual(['MySQL refuses writes: its disk is full.']);
  });

  it('says that Redis cannot be reached, and that nothing is lost', () => {
    expect(headline({ ...now(), health: { ...WELL, redis: 'not available' } })).toMatch(
      /^Redis cannot be reached\. .*nothing is lost\.$/,
    );
  });

  it('names a failed import with its error', () => {
    const imports = [
      {
        id: '7',
        customer: 'Acme',
        status: 'failed',
        checkpoint: 0,
        error: 'Row 3 crashed.',
        received_at: AT,
      },
    ];
    const it = now({ imports, totals: { importsFailedLately: 1 } });
    expect(headline(it)).toBe('Import 7 of Acme has failed. Row 3 crashed.');
  });

  it('says that imports are stuck, unless there is no importer', () => {
    const totals = { importsStuck: 2 };
    expect(headline(now({ totals }))).toBe(
      '2 imports have been waiting for more than 5 minutes, and nothing of the same customer is stored. A transaction in MySQL may hold a lock.',
    );
    const processes = [running(ALL.filter((it) => it !== 'importer'))];
    expect(sentences(now({ totals, processes }))).toHaveLength(1);
  });

  it('asks for attention when nothing fails but a webhook is disabled or a backlog is old', () => {
    const disabled = failing('9', { status: 'disabled', failing_since: null });
    expect(headline(now({ trouble: [disabled] }))).toBe('Everything works. Somebody should look at this:');
    expect(sentences(now({ trouble: [disabled, { ...disabled, id: '10' }] }))).toEqual([
      '2 webhooks are disabled, because the endpoint was gone or failed for five days.',
    ]);
    const behind = (id: string) => failing(id, { failing_since: null, behindSince: minutesAgo(30) });
    expect(sentences(now({ trouble: [behind('7')] }))).toEqual([
      'Acme: webhook 7 “Depo” is behind. Its endpoint answers, but its oldest pending delivery has been waiting for 30 min, 4,711 deliveries pending.',
    ]);
    const many = sentences(now({ trouble: ['1', '2', '3', '4'].map(behind) }));
    expect(many).toHaveLength(4);
    expect(many.at(-1)).toBe('More webhooks are behind.');
  });

  it('counts the conflicts that await a decision', () => {
    const [alert, ...others] = findAlerts(now({ openConflicts: 3 }));
    expect(others).toEqual([]);
    expect(alert?.sentence).toContain('3 conflicts wait for a decision');
    expect(alert?.link).toEqual({ text: 'Books', href: '/ops/books' });
  });

  it('names a single failing source, and how often it has failed', () => {
    const it = now({ sources: [source('4')], sourcesInTrouble: { failing: 1, withWrongFile: 0 } });
    expect(headline(it)).toBe(
      'Acme: source 4 “Ekstre” has failed 3 times in a row. Last error: The server refused the password.',
    );
    expect(findAlerts(it)[0]?.link).toEqual({ text: 'Source 4', href: '/ops/sources/4' });
  });

  it('names three failing sources and counts the others', () => {
    const sources = ['1', '2', '3', '4'].map((id) => source(id));
    const found = sentences(now({ sources, sourcesInTrouble: { failing: 12, withWrongFile: 0 } }));
    expect(found).toHaveLength(4);
    expect(found.at(-1)).toBe('9 more sources are failing.');
  });

  it('asks for attention when a source has brought a wrong file', () => {
    const wrong = source('5', { consecutive_failures: 0, error: 'march.sta: 1 row was rejected.' });
    const one = now({ sources: [wrong], sourcesInTrouble: { failing: 0, withWrongFile: 1 } });
    expect(headline(one)).toBe('Everything works. Somebody should look at this:');
    expect(sentences(one)).toEqual([
      'Acme: source 5 “Ekstre” has brought a file that could not be imported, or not all of it. march.sta: 1 row was rejected.',
    ]);
    const many = now({ sources: [wrong], sourcesInTrouble: { failing: 0, withWrongFile: 20 } });
    expect(sentences(many)).toEqual([
      '20 sources have brought a file that could not be imported, or not all of it.',
    ]);
  });

  it('says that a webhook was quarantined', () => {
    const trouble = [failing('9', { status: 'paused', status_reason: 'crashed', failing_since: null })];
    expect(headline(now({ trouble, totals: { quarantined: 1 } }))).toBe(
      'Acme: webhook 9 “Depo” was paused, because delivery runs kept crashing.',
    );
  });
});
