import { randomBytes } from 'node:crypto';
import { zipSync } from 'fflate';
import { Agent, type Dispatcher, request } from 'undici';
import { type Figure, type Measured, type MeasuredTimes, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual } from '../load.ts';
import { forgetPeak, memoryOf } from '../usage.ts';

/** Requests of the victim per second. */
const RATE = 200;
const SECONDS = { smoke: 0.2, normal: 3 };

/** Requests of the attacker at the same time. When all are answered, it sends them again. */
const AT_ONCE = 10;

const JSON_TYPE = 'application/json';
const FILE_TYPE = 'application/octet-stream';
const MIB = 1024 * 1024;

interface Attack {
  name: string;
  path: string;
  type: string;
  body: Buffer;
}

/**
 * Milliseconds that a customer waits for `GET /v1/accounts` while another one uploads what is costly to look at and holds no movement.
 * Baseline: the same without the uploads. And the memory that the uploads add to the api process.
 */
export const hostile: Figure = {
  about:
    'how long a customer waits, and how much memory the API takes, while another one uploads hostile files and bodies',
  async prepare(scale: Scale, start) {
    const installation = await start();
    // The others take too long for a smoke run.
    const all = attacks().filter(({ body }) => scale !== 'smoke' || body.length < 1_000);
    const seconds = sized(scale, SECONDS);
    return {
      server: installation.server,
      async round() {
        const measured: Round[number][] = [];
        for (const attack of all) measured.push(...(await measure(installation, attack, seconds)));
        return measured;
      },
      end: () => installation.end(),
    };
  },
};

function attacks(): Attack[] {
  const file = (name: string, body: Buffer, format = 'auto') => [
    { name, path: `/v1/imports?format=${format}`, type: FILE_TYPE, body },
    { name: `${name}, dry run`, path: `/v1/imports?format=${format}&dry_run=true`, type: FILE_TYPE, body },
  ];
  const json = (megabytes: number) => ({
    name: `${megabytes} MiB of zeros as movements`,
    path: '/v1/imports',
    type: JSON_TYPE,
    body: Buffer.from(`{"transactions":[${'0,'.repeat((megabytes * MIB) / 2 - 10)}0]}`),
  });
  return [
    ...file('183 bytes of empty comments', comments(26)),
    ...file('281 bytes of empty comments', comments(40)),
    ...file('a zip of 100 files that are no statements', zipOf(100, smallFile), 'csv'),
    ...file('a zip of 1,000 files that are no statements', zipOf(1_000, smallFile), 'csv'),
    ...file('11 KB in no encoding', bytesAboveAscii()),
    ...file('a zip of 100 files in no encoding', zipOf(100, bytesAboveAscii)),
    json(2),
    json(12),
  ];
}

const comments = (count: number) => Buffer.from(`${'<!---->'.repeat(count)}x`);

const smallFile = () => Buffer.from('this is no statement\n');

/** No byte is ASCII, so that each encoding has to be tried. */
const bytesAboveAscii = () => randomBytes(11_000).map((byte) => byte | 0x80) as Buffer;

const zipOf = (count: number, content: () => Buffer): Buffer =>
  Buffer.from(
    zipSync(Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.txt`, content()]))),
  );

async function measure(installation: Installation, attack: Attack, seconds: number): Promise<Round> {
  const { api_key: victim } = await installation.customer();
  const { api_key: attacker } = await installation.customer();
  const alone = await readSteadily(installation.url, victim, seconds);
  const pid = installation.pids['api 1'] ?? 0;
  const before = await memoryOf(pid);
  await forgetPeak(pid);
  const attacking = startAttack(installation.url, attacker, attack);
  const beside = await readSteadily(installation.url, victim, seconds);
  const statuses = await attacking.end();
  const { peak } = await memoryOf(pid);
  await importerIdle(installation);
  const told = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  console.error(`  ${attack.name}: ${told}`);
  const times = (part: number): MeasuredTimes => ({
    name: `p${part * 100} of GET /v1/accounts beside ${attack.name}`,
    unit: 'ms',
    part,
    times: beside,
    baseline: { name: 'the same without the uploads', times: alone },
  });
  const memory: Measured = {
    name: `memory that the API takes in addition, ${attack.name}`,
    unit: 'MB resident',
    value: Math.max(0, peak - before.now),
  };
  return [times(0.5), times(0.99), memory];
}

/** Waits until the importer has refused what the API has accepted, because the next measurement begins without it. */
async function importerIdle({ runtime }: Installation): Promise<void> {
  for (;;) {
    const [{ waiting } = { waiting: '0' }] = await runtime.database.query<{ waiting: string }[]>(
      "SELECT COUNT(*) AS waiting FROM imports WHERE status IN ('receiving', 'queued', 'running')",
    );
    if (Number(waiting) === 0) return;
    await pause(100);
  }
}

/**
 * Reads the accounts of a customer at a steady rate, whatever the answers do.
 * @returns the milliseconds from the moment at which each request should be sent to its answer.
 */
async function readSteadily(url: string, key: string, seconds: number): Promise<number[]> {
  const dispatcher = new Agent();
  const began = performance.now();
  const reads: Promise<number>[] = [];
  for (let sent = 0; sent < RATE * seconds; sent += 1) {
    const due = began + (sent * 1_000) / RATE;
    const early = due - performance.now();
    if (early > 0) await pause(early);
    reads.push(read(dispatcher, url, key, due));
  }
  const times = await Promise.all(reads);
  await dispatcher.close();
  return times;
}

async function read(dispatcher: Dispatcher, url: string, key: string, due: number): Promise<number> {
  const answer = await request(`${url}/v1/accounts`, { dispatcher, headers: { Authentication: key } });
  await answer.body.dump();
  requireEqual({ expected: 200, status: answer.statusCode });
  return performance.now() - due;
}

/** Sends an attack again and again. `end` waits for the last answers and returns how often each status came. */
function startAttack(url: string, key: string, { path, type, body }: Attack) {
  const dispatcher = new Agent();
  const statuses = new Map<number, number>();
  let isOver = false;
  const send = async () => {
    const answer = await request(url + path, {
      dispatcher,
      method: 'POST',
      headers: { Authentication: key, 'content-type': type },
      body,
    });
    await answer.body.dump();
    const { statusCode: status } = answer;
    // 503: others of its uploads are at work. Files of a format that was named are accepted, and the importer refuses them.
    if (status >= 500 && status !== 503) throw new Error(`${path} was answered with ${status}`);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  const working = (async () => {
    do await Promise.all(Array.from({ length: AT_ONCE }, send));
    while (!isOver);
  })();
  // It is awaited at the end.
  working.catch(() => {});
  return {
    async end() {
      isOver = true;
      await working;
      await dispatcher.close();
      return statuses;
    },
  };
}
