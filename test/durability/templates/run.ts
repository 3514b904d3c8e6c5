import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { until } from '../../support/until.ts';
import { createDice, type Dice } from '../dice.ts';
import { check, type Expected, FINDINGS, type Kill, readTables } from './checker.ts';
import { type RoleName, startTemplateInstallation, type TemplateInstallation } from './installation.ts';
import { forEachOf } from './operators.ts';
import type { Receipt } from './receipts.ts';

/**
 * A fault run of a webhook template. Its parts follow one another:
 *
 * 1. Customers are created, some before the template and the others after it.
 * 2. Some customers get movements.
 * 3. All customers get movements. Half-way, the endpoint fails, until it was probed some times.
 * 4. It answers again. While what has waited is sent, the secret is rotated, and the template is paused and made active again.
 *
 * In each part, processes are killed.
 */

const SECOND = 1_000;

export interface TemplateRunOptions {
  seed: number;
  customers: number;
  /** How many of them get movements first, and again during the pause. */
  few: number;
  /** How often the failing endpoint must have been probed before it answers again. */
  probes: number;
  /** Ends the time of open circuits and of retries with SQL, so that nothing waits for the schedule. */
  hurry: boolean;
  /** Seconds without any progress after which the run gives up. */
  waitLimit: number;
  keep: boolean;
  announce: (line: string) => void;
  signal: AbortSignal;
}

export interface TemplateOutcome {
  /** What happened, in Markdown. */
  table: string;
  /** Each case of what must not happen. */
  findings: string[];
}

interface RunCustomer {
  number: number;
  externalId: string;
  id: string;
  accountId: number;
}

/** The parts of a run in which processes are killed, and which ones. `delivery` and `importer` are either of the two. */
const KILLS = {
  creating: ['maintenance 0', 'api 0'],
  few: ['importer', 'delivery'],
  all: ['importer', 'delivery'],
  failing: ['api 0', 'delivery'],
  draining: ['delivery', 'receiver'],
  paused: ['delivery', 'maintenance 0'],
} as const;
type Part = keyof typeof KILLS;
type Killed = (typeof KILLS)[Part][number];

/** Runs the parts, waits until all is delivered, and compares. */
export async function runTemplates(options: TemplateRunOptions): Promise<TemplateOutcome> {
  const { announce, signal, keep } = options;
  const installation = await startTemplateInstallation(announce, signal);
  let clean = false;
  try {
    announce(`Everything runs; logs and data are in ${installation.directory}`);
    const outcome = await stress(installation, options);
    clean = outcome.findings.length === 0;
    return outcome;
  } finally {
    await installation.end(!keep && (clean || signal.aborted));
  }
}

async function stress(
  installation: TemplateInstallation,
  options: TemplateRunOptions,
): Promise<TemplateOutcome> {
  const { seed, customers: count, few, announce, signal } = options;
  const { operators, receiver, receipts, sql } = installation;
  const dice = createDice(seed);
  const begun = performance.now();
  const say = (line: string) =>
    announce(`${((performance.now() - begun) / SECOND).toFixed(1).padStart(7)} s  ${line}`);
  const facts: [string, string | number][] = [];
  const note = (name: string, value: string | number) => {
    facts.push([name, value]);
    say(`${name}: ${value}`);
  };
  const broken: string[] = [];
  const killer = createKiller(installation, dice, say);
  const load = createLoad(installation, say);

  // 1. Customers.
  const before = Math.ceil(count * 0.3);
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  await load.create(numbers.slice(0, before));
  await load.send(load.customers.slice(0, 10), { each: 1, isMatched: false });
  await until('what is stored before the template', async () => (await readUnfinished(sql)) === 0);
  interface Shown {
    webhook_template: {
      id: number;
      secret: string | null;
      webhooks: { active: number; customers_left: number };
    };
  }
  const templateBody = {
    ...{ title: 'All customers', endpoint: `http://127.0.0.1:${receiver.port}/`, event: 'NEW_TRANSACTION' },
    customers: 'all',
  };
  const { webhook_template: template } = await operators.call<Shown>('POST', '/v1/webhook-templates', {
    body: templateBody,
  });
  if (template.secret === null) throw new Error('the template has no secret');
  await receiver.addSecret(template.secret);
  const path = `/v1/webhook-templates/${template.id}`;
  const templateId = String(template.id);
  note('customers left when the template was created', template.webhooks.customers_left);
  const creating = killer.during('creating', count - before);
  await load.create(numbers.slice(before), creating.progress);
  await creating.end();
  const show = () => operators.call<Shown>('GET', path);
  const template2 = await until(
    'a webhook for each customer',
    async () => {
      const { webhook_template: it } = await show();
      return it.webhooks.customers_left === 0 ? it : null;
    },
    options.waitLimit * SECOND,
  );
  note('customers, all with a webhook', template2.webhooks.active);

  // 2. A few.
  const fewCustomers = dice.shuffle(load.customers).slice(0, few);
  const ofFew = killer.during('few', few);
  await load.send(fewCustomers, { each: 3, onSent: ofFew.progress });
  await ofFew.end();
  if (!options.hurry) await drained(installation, templateId, options, (left) => left === 0);
  note('movements of a few', `${few * 3} of ${few} customers`);

  // 3. All, and the endpoint fails half-way.
  const shuffled = dice.shuffle(load.customers);
  const half = Math.ceil(count * 0.4);
  const healthy = killer.during('all', half);
  await load.send(shuffled.slice(0, half), { each: 2, onSent: healthy.progress });
  await healthy.end();
  await receiver.change('fails');
  const failedFrom = Date.now();
  say('the endpoint fails');
  const failing = killer.during('failing', count - half);
  const circuit = watchCircuit(sql, templateId, signal);
  await load.send(shuffled.slice(half), { each: 2, onSent: failing.progress });
  await failing.end();
  const { openAt, calmAt } = await circuit;
  await until('all imports', async () => (await readUnfinished(sql)) === 0, options.waitLimit * SECOND);
  const inPhase = () => receipts.read().filter(({ at, mode }) => at >= failedFrom && mode === 'fails');
  const probesOf = () => inPhase().filter(({ at }) => at > calmAt);
  await until(
    `${options.probes} probes of the failing endpoint`,
    async () => {
      if (options.hurry) await sql.query(END_CIRCUIT, [templateId]);
      return probesOf().length >= options.probes;
    },
    options.waitLimit * SECOND,
  );
  const waiting = await readPending(sql, templateId);
  const failed = inPhase();
  const probes = probesOf();
  const most = Math.max(...probes.map(({ inFlight }) => inFlight));
  note('the endpoint fails for', seconds(Date.now() - failedFrom));
  note('POSTs until its circuit was open', failed.filter(({ at }) => at <= openAt).length);
  note('POSTs of runs that had begun before', failed.filter(({ at }) => at > openAt && at <= calmAt).length);
  note('until these runs had ended', seconds(calmAt - openAt));
  note('POSTs after that (probes)', probes.length);
  note('most probes at a time', most);
  note('webhooks that waited', waiting.webhooks);
  note('movements that waited', waiting.movements);
  note('seconds between probes', gaps(probes));
  if (most > 1) broken.push(`${most} POSTs at a time probed the failing endpoint`);

  // 4. It answers again.
  await receiver.change('normal');
  const revivedAt = Date.now();
  say('the endpoint answers again');
  const firstOf = (from: number) => receipts.read().find(({ at, mode }) => at >= from && mode === 'normal');
  const isDrained = (part: number) => (left: number) => left <= waiting.movements * (1 - part);
  await until(
    'the first POST after it',
    async () => {
      if (options.hurry) await sql.query(END_CIRCUIT, [templateId]);
      return firstOf(revivedAt);
    },
    options.waitLimit * SECOND,
  );
  note('first POST after it answered again', seconds((firstOf(revivedAt)?.at ?? 0) - revivedAt));
  const draining = killer.during('draining', waiting.movements);
  await drained(installation, templateId, options, (left) => {
    draining.progress(waiting.movements - left, 0.2);
    return isDrained(0.2)(left);
  });
  const rotated = await rotate(installation, path);
  say('the secret is rotated');
  await drained(installation, templateId, options, (left) => {
    draining.progress(waiting.movements - left, 0.2);
    return isDrained(0.4)(left);
  });
  const pendingAtPause = await readPending(sql, templateId);
  await operators.call('PATCH', path, { body: { status: 'paused' } });
  const pausedAt = Date.now();
  note('movements that waited when it was paused', pendingAtPause.movements);
  await until(
    'the end of the runs of the paused template',
    async () => (await readLeases(sql, templateId)) === 0,
    options.waitLimit * SECOND,
  );
  const endedAt = Date.now();
  const paused = killer.during('paused', few);
  await load.send(fewCustomers, { each: 1, onSent: paused.progress });
  await paused.end();
  await until('all imports', async () => (await readUnfinished(sql)) === 0, options.waitLimit * SECOND);
  const activeFrom = Date.now();
  const inPause = receipts.read().filter(({ at }) => at > pausedAt && at < activeFrom);
  const tooLate = inPause.filter(({ at }) => at > endedAt);
  note('paused for', seconds(activeFrom - pausedAt));
  note('POSTs that began after the answer to the pause', inPause.length);
  note('the last of these began after', seconds(Math.max(0, ...inPause.map(({ at }) => at - pausedAt))));
  note('POSTs later than 1 s after it', inPause.filter(({ at }) => at > pausedAt + SECOND).length);
  note('until all runs had ended', seconds(endedAt - pausedAt));
  for (const it of tooLate) broken.push(`sent during the pause: ${it.message} at ${it.at - pausedAt} ms`);
  await operators.call('PATCH', path, { body: { status: 'active' } });
  const activeAt = Date.now();
  await drained(installation, templateId, options, (left) => {
    draining.progress(waiting.movements - left);
    return left === 0;
  });
  await draining.end();
  note('first POST after it was active again', seconds((firstOf(activeFrom)?.at ?? 0) - activeAt));
  note('all delivered after that', seconds(Date.now() - activeAt));
  const left = await readUnfinished(sql);
  if (left > 0) broken.push(`${left} imports are not done`);

  const all = receipts.read();
  const oldOnly = all.filter(({ at, signatures }) => at > rotated.at && signatures < 2);
  note('POSTs with the old signature only after the rotation', oldOnly.length);
  note('the last of those began after', seconds(Math.max(0, ...oldOnly.map(({ at }) => at - rotated.at))));
  const badEnds = await installation.endRoles();
  const tables = await readTables(sql, templateId);
  const customerIds = load.customers.map(({ id }) => id);
  const verdict = check({
    ...{ expected: load.expected, customerIds, tables, receipts: all, kills: killer.kills },
  });
  note('processes killed', killer.kills.length);
  note('movements accepted', load.expected.size);
  note('movements to be delivered', [...load.expected.values()].filter(({ isMatched }) => isMatched).length);
  note('POSTs received', all.length);
  note('POSTs accepted', all.filter(({ answeredAt }) => answeredAt !== null).length);
  note('duplicates', verdict.duplicates);
  note('hashes not checked', all.filter(({ hash }) => hash === 'not checked').length);
  note('requests sent again', operators.resent);
  note('took', seconds(performance.now() - begun));
  const findings = [
    ...FINDINGS.flatMap((name) => shown(name, verdict.findings[name])),
    ...shown('errors in the logs', installation.readErrors()),
    ...broken,
    ...badEnds,
  ];
  const table = facts.map(([name, value]) => `| ${name} | ${value} |`).join('\n');
  return { table: `| seed ${seed} | |\n|---|---:|\n${table}`, findings };
}

const seconds = (milliseconds: number): string => `${(milliseconds / SECOND).toFixed(1)} s`;

const gaps = (receipts: readonly Receipt[]): string =>
  receipts
    .slice(1)
    .map(({ at }, index) => ((at - (receipts[index]?.at ?? at)) / SECOND).toFixed(1))
    .join(', ');

const SHOWN = 5;
const shown = (name: string, cases: readonly string[]): string[] =>
  cases.length === 0 ? [] : [`${name}: ${cases.length}`, ...cases.slice(0, SHOWN).map((it) => `  ${it}`)];

/** Kills processes while a part goes on. */
function createKiller(installation: TemplateInstallation, dice: Dice, say: (line: string) => void) {
  const kills: Kill[] = [];

  async function kill(which: Killed): Promise<void> {
    const name =
      which === 'delivery' || which === 'importer' ? (`${which} ${dice.whole(0, 1)}` as RoleName) : which;
    kills.push({ name, at: Date.now() });
    say(`kill ${name}`);
    await (name === 'receiver' ? installation.receiver.kill() : installation.kill(name));
  }

  return {
    kills,
    /** @param total what the progress of the part ends with. Each of its kills comes at a point of it that the dice say. */
    during(part: Part, total: number) {
      const planned = KILLS[part].map((which) => ({
        which,
        from: Math.ceil((0.1 + 0.7 * dice.next()) * total),
      }));
      const running: Promise<void>[] = [];
      const begin = (isDue: (from: number) => boolean) => {
        for (let at = planned.length - 1; at >= 0; at -= 1)
          if (isDue(planned[at]?.from ?? 0))
            for (const { which } of planned.splice(at, 1)) running.push(kill(which));
      };
      return {
        /** @param least do not kill before this part of the progress. */
        progress(done: number, least = 0): void {
          if (done >= least * total) begin((from) => from <= done);
        },
        /** Kills what is left, and resolves when all that were killed run again. */
        async end(): Promise<void> {
          begin(() => true);
          await Promise.all(running);
        },
      };
    },
  };
}

const AT_A_TIME = 12;

/** Customers and their movements. */
function createLoad({ operators, receiver }: TemplateInstallation, say: (line: string) => void) {
  const customers: RunCustomer[] = [];
  const expected = new Map<string, Expected>();
  let rows = 0;

  async function createOne(number: number): Promise<void> {
    const externalId = `kunde ${number}/ü`;
    const made = await operators.call<{
      customer: { id: number };
      accounts: { id: number }[];
      api_secret?: string | null;
    }>('POST', '/v1/customers', {
      body: {
        ...{ name: `Kunde ${number}`, external_id: externalId, api_key: false },
        metadata: { plan: number % 2 === 0 ? 'small' : 'large' },
        accounts: [{ bank: 'Bank', title: 'Konto', currency: 'EUR' }],
      },
    });
    const id = String(made.customer.id);
    // If its answer was lost, nobody has the secret.
    if (typeof made.api_secret === 'string') receiver.addApiSecret(id, made.api_secret);
    customers.push({ number, externalId, id, accountId: made.accounts[0]?.id ?? 0 });
  }

  return {
    customers,
    /** By name. */
    expected,
    async create(numbers: readonly number[], onCreated: (done: number) => void = () => {}): Promise<void> {
      const begun = performance.now();
      let done = 0;
      await forEachOf(numbers, AT_A_TIME, async (number) => {
        await createOne(number);
        done += 1;
        onCreated(done);
      });
      say(`${done} customers are created in ${seconds(performance.now() - begun)}`);
    },
    /** Sends an import for each customer. */
    async send(
      of: readonly RunCustomer[],
      {
        each,
        isMatched = true,
        onSent = () => {},
      }: { each: number; isMatched?: boolean; onSent?: (done: number) => void },
    ): Promise<void> {
      const begun = performance.now();
      let done = 0;
      await forEachOf(of, AT_A_TIME, async ({ number, externalId, id, accountId }) => {
        const names = Array.from({ length: each }, () => {
          rows += 1;
          return `m${number}-${rows}`;
        });
        const transactions = names.map((name) => ({
          ...{
            account_id: accountId,
            unique_id: name,
            dc: 'Credit',
            amount: '1.00',
            date_issue: '2026-01-05',
          },
          description: `${name} Zahlung`,
        }));
        await operators.call('POST', '/v1/imports', {
          body: { transactions },
          customer: id,
          key: names.join(),
        });
        for (const name of names) expected.set(name, { customerId: id, externalId, isMatched });
        done += 1;
        onSent(done);
      });
      say(`${done} imports are accepted in ${seconds(performance.now() - begun)}`);
    },
  };
}

/** A stored answer has no secret, so each request is another one. */
async function rotate({ operators, receiver }: TemplateInstallation, path: string): Promise<{ at: number }> {
  for (;;) {
    const { webhook_template: it } = await operators.call<{ webhook_template: { secret: string | null } }>(
      ...(['POST', `${path}/rotate-secret`] as const),
    );
    const at = Date.now();
    if (it.secret === null) continue;
    await receiver.addSecret(it.secret);
    return { at };
  }
}

const END_CIRCUIT =
  'UPDATE webhook_cursors SET circuit_open_until = NOW(6) WHERE webhook_id = ? AND circuit_open_until > NOW(6)';

/** As if the time had passed. */
const LET_TIME_PASS = [
  'UPDATE retries SET due_at = NOW(6) WHERE due_at > NOW(6)',
  'UPDATE webhook_backlogs SET due_at = NOW(6) WHERE due_at > NOW(6)',
];

const LOOK_EVERY = 50;

/** Waits until so few deliveries are pending. @throws when nothing is delivered for too long. */
async function drained(
  { sql }: TemplateInstallation,
  templateId: string,
  { waitLimit, hurry, signal }: TemplateRunOptions,
  isOver: (left: number) => boolean,
): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let end = 0;
  let hurryAt = performance.now() + SECOND;
  for (;;) {
    signal.throwIfAborted();
    const left = (await readPending(sql, templateId)).movements + (await readUnfinished(sql));
    if (isOver(left)) return;
    if (left < least) {
      least = left;
      end = performance.now() + waitLimit * SECOND;
    }
    if (performance.now() > end) throw new Error(`${left} deliveries are pending, and none ends`);
    if (hurry && performance.now() > hurryAt) {
      hurryAt = performance.now() + SECOND;
      for (const statement of LET_TIME_PASS) await sql.query(statement).catch(() => {});
    }
    await sleep(LOOK_EVERY);
  }
}

const PENDING = `
  SELECT COUNT(*) AS webhooks, COALESCE(SUM(CAST(b.matched_count AS SIGNED) - c.delivered_count - c.failed_count), 0) AS movements
  FROM webhooks w JOIN webhook_backlogs b ON b.webhook_id = w.id JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.template_id = ? AND b.matched_count > c.delivered_count + c.failed_count`;

/** What is pending, and of how many webhooks. */
async function readPending(sql: Pool, templateId: string): Promise<{ webhooks: number; movements: number }> {
  const [[row]] = await sql.query<RowDataPacket[]>(PENDING, [templateId]);
  return { webhooks: Number(row?.webhooks), movements: Number(row?.movements) };
}

async function readUnfinished(sql: Pool): Promise<number> {
  const [[row]] = await sql.query<RowDataPacket[]>(
    "SELECT COUNT(*) AS number FROM imports WHERE status IN ('queued', 'running')",
  );
  return Number(row?.number);
}

/** Counts the runs of a template's webhooks, without the one that probes the endpoint. */
async function readLeases(sql: Pool, templateId: string): Promise<number> {
  const [[row]] = await sql.query<RowDataPacket[]>(
    `SELECT COUNT(*) AS number FROM webhooks w JOIN webhook_cursors k ON k.webhook_id = w.id JOIN webhook_cursors h ON h.webhook_id = w.template_id
     WHERE w.template_id = ? AND k.lease_until > NOW(6) AND (h.probe_by IS NULL OR h.probe_by <> w.id)`,
    [templateId],
  );
  return Number(row?.number);
}

/** Waits until the circuit is open, and until all runs that have begun before have ended. */
async function watchCircuit(
  sql: Pool,
  templateId: string,
  signal: AbortSignal,
): Promise<{ openAt: number; calmAt: number }> {
  for (let openAt: number | null = null; ; ) {
    signal.throwIfAborted();
    const [[row]] = await sql.query<RowDataPacket[]>(
      'SELECT circuit_openings AS openings FROM webhook_cursors WHERE webhook_id = ?',
      [templateId],
    );
    if (openAt === null && Number(row?.openings) > 0) openAt = Date.now();
    if (openAt !== null && (await readLeases(sql, templateId)) === 0) return { openAt, calmAt: Date.now() };
    await sleep(LOOK_EVERY / 5);
  }
}
