import { describe, expect, it } from 'vitest';
import { HEARTBEATS_SETTLE, type ProcessSeen } from '../../src/database/processes.ts';
import {
  findProcessTroubles,
  findServerTroubles,
  type SeenServers,
  withRefusal,
} from '../../src/verdict/servers.ts';
import type { Figures } from '../../src/verdict/state/figures.ts';

const running = (roles: string[], fields: Partial<ProcessSeen> = {}): ProcessSeen => ({
  name: '',
  roles,
  version: '1.0.0',
  host: 'ev',
  pid: 1,
  timeZoneOffset: '+03',
  plainTextHost: null,
  cpuPercent: 1,
  loopDelayMs: 1,
  memoryMib: 100,
  startedAt: new Date('2026-03-01T02:00:00Z'),
  seenSecondsAgo: 1,
  running: true,
  steady: true,
  mysqlProblem: null,
  redisProblem: null,
  dnsProblem: null,
  killedAt: null,
  clockAhead: 3,
  ...fields,
});

const WELL: SeenServers = { mysql: 'ok', redis: 'ok', hostProblems: [] };
const ALL = ['api', 'importer', 'delivery', 'maintenance'];
const FIGURES = {
  imports: { receiving: 0, queued: 2, running: 1, failed: 0 },
  pending: { healthy: 1, failing: 0, held: 9 },
} as Figures;

const ofProcesses = (processes: ProcessSeen[], servers = WELL) =>
  findProcessTroubles(processes, servers, FIGURES).map(({ sentence, help }) => `${sentence} ${help}`);
const ofServers = (servers: Partial<SeenServers>) =>
  findServerTroubles({ ...WELL, ...servers }).map(({ sentence, help }) => `${sentence} ${help}`);

describe('the troubles of servers', () => {
  it('are none if all work', () => {
    expect(ofServers({})).toEqual([]);
  });

  it('say what follows if MySQL or Redis cannot be reached', () => {
    expect(ofServers({ mysql: 'not available', redis: 'not available' })).toEqual([
      'MySQL cannot be reached. Nothing is accepted, and nothing is delivered. What was accepted is stored in MySQL.',
      'Redis cannot be reached. Imports are still accepted. Work that has not begun waits until Redis is back, and nothing is lost.',
    ]);
    expect(ofServers({ mysql: 'refuses writes: it is read-only' })).toEqual([
      'MySQL refuses writes: it is read-only. Imports are answered with 503, and deliveries wait. What was accepted is stored in MySQL.',
    ]);
  });

  it.each(['does not answer', 'has not finished a write for 5 s', 'waits for a lock of another session'])(
    'do not say that nothing is accepted while MySQL %s',
    (mysql) => {
      expect(ofServers({ mysql })).toEqual([
        `MySQL ${mysql}. Imports may be answered with 503, or wait after a 202, and deliveries may wait. What was accepted is stored in MySQL.`,
      ]);
    },
  );

  it('say what a MySQL that works refuses', () => {
    const mysqlLimit = 'refuses large imports: max_allowed_packet is 1048576';
    expect(ofServers({ mysqlLimit })).toEqual([
      'MySQL refuses large imports: max_allowed_packet is 1048576. Smaller imports are stored. A larger one is answered with 503, and its sender repeats it.',
    ]);
    expect(ofServers({ mysqlLimit, mysql: 'not available' })).toHaveLength(1);
  });

  it('name the schema and the hosts', () => {
    expect(ofServers({ isSchemaOld: true, hostProblems: ['Two hosts take writes.'] })).toEqual([
      'The database schema is not up to date. Run: ledgerbell migrate',
      'Two hosts take writes. Leave one host as the primary, and make the others read-only.',
    ]);
  });
});

describe('the troubles of processes', () => {
  it.each([
    ['api', 'No process runs the role api. No request is answered. Start one.'],
    ['importer', 'No process runs the role importer. 3 imports waiting. Start one.'],
    ['delivery', 'No process runs the role delivery. 1 delivery pending. Start one.'],
    [
      'maintenance',
      'No process runs the role maintenance. What Redis forgets is not queued again. Start one.',
    ],
  ])('say that no process has the role %s, and what follows', (role, sentence) => {
    expect(ofProcesses([running(ALL.filter((it) => it !== role))])).toEqual([sentence]);
  });

  it('miss no process that cannot write its heartbeat, and none before another one has written heartbeats for a while', () => {
    const gone = running(ALL, { running: false, seenSecondsAgo: 60 });
    expect(ofProcesses([gone], { ...WELL, mysql: 'refuses writes: it is read-only' })).toEqual([]);
    const other = running(['delivery', 'importer', 'maintenance'], { running: false, seenSecondsAgo: 60 });
    const back = running(['api'], { steady: false });
    expect(ofProcesses([back, other])).toEqual([]);
    expect(ofProcesses([{ ...back, steady: true }, other])).toHaveLength(3);
    expect(ofProcesses([other])).toEqual([]);
  });

  it('say that no process runs, once MySQL has worked for longer than a heartbeat takes', () => {
    const gone = running(ALL, { running: false, seenSecondsAgo: 60 });
    const none = 'No process runs. No request is answered. 3 imports waiting.';
    const worksSince = performance.now() - HEARTBEATS_SETTLE;
    expect(ofProcesses([gone], { ...WELL, worksSince })).toEqual([expect.stringContaining(none)]);
    expect(ofProcesses([])).toEqual([expect.stringContaining(none)]);
    expect(ofProcesses([gone], { ...WELL, worksSince, mysql: 'does not answer' })).toEqual([]);
  });

  it('say of each OPS_HOST that takes passwords in plain text, as long as a process runs there', () => {
    const [open, gone] = ['0.0.0.0', '10.0.0.1'];
    const processes = [
      running(ALL, { plainTextHost: open }),
      running(['delivery'], { plainTextHost: open }),
      running(['delivery'], { plainTextHost: gone, running: false }),
    ];
    expect(ofProcesses(processes)).toEqual([
      "Operators' tokens and passwords cross the network in plain text, because OPS_HOST is 0.0.0.0 and there is no TLS. Set OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE, or OPS_BEHIND_TLS=true if a proxy in front does TLS.",
    ]);
  });

  it('say what other processes see of Redis, and whose clock is wrong', () => {
    const processes = [
      running(ALL),
      running(['delivery'], { name: 'delivery-1', redisProblem: 'not available' }),
      running(['delivery'], { name: 'delivery-2', clockAhead: -3_600_000 }),
    ];
    expect(ofProcesses(processes)).toEqual([
      'Redis cannot be reached, as delivery-1 on ev saw. Look at the host of the process: its network, its disk and its clock.',
      "The clock of delivery-2 on ev is 3600 s behind MySQL's. Signatures carry this clock; set both by NTP. Look at the host of the process: its network, its disk and its clock.",
    ]);
  });

  it('name processes with different values of TIME_ZONE_OFFSET, unless they no longer run', () => {
    const other = running(['delivery'], { name: 'delivery-1', timeZoneOffset: '+02' });
    expect(ofProcesses([running(ALL), other])).toEqual([
      'TIME_ZONE_OFFSET is +03 in api, importer, delivery, maintenance on ev, but +02 in delivery-1 on ev. It is part of every date_readed. Give all processes the same TIME_ZONE_OFFSET, and start them again.',
    ]);
    expect(ofProcesses([running(ALL), { ...other, running: false }])).toEqual([]);
  });

  it('tell that MySQL refuses writes, although the one who asks could write', () => {
    const mysqlProblem = 'refuses writes: its disk is full';
    expect(withRefusal(WELL, [running(ALL), running(['delivery'], { mysqlProblem })])).toEqual({
      ...WELL,
      mysql: mysqlProblem,
    });
    expect(withRefusal(WELL, [running(ALL, { mysqlProblem, running: false })])).toEqual(WELL);
  });
});
