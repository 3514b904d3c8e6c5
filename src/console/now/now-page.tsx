import { AsyncLocalStorage } from 'node:async_hooks';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { predicateOf, type ServerState } from '../../database/health.ts';
import type { ProcessSeen } from '../../database/processes.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { createPoller, type Poller } from '../../platform/poller.ts';
import { headlineOf, headlineSeverityOf } from '../../verdict/trouble.ts';
import { type Column, formatCount, formatDuration, Moment, Table, Tag, Troubles } from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { shownZone } from '../page/zone.ts';
import { createNowReader, type Now } from './now-reader.ts';

/** The first page of the console: whether anything is wrong now, with what, and what runs. */

/** The charts: their id in the page, title, and unit. public/ops/now.js draws them. */
const CHARTS = [
  ['pending', 'Pending deliveries', ''],
  ['oldest', 'Age of the oldest pending', ''],
  ['deliveries', 'Deliveries', 'per second'],
  ['imports', 'Imports', 'per second'],
  ['success', 'Success rate', 'of sampled attempts'],
  ['latency', 'Answer time', 'ms at p50, p95, p99'],
] as const;

/** The page /ops. When the installation changes, public/ops/now.js replaces the parts that have an id. */
export const NowPage = ({ now }: { now: Now }) => (
  <>
    <p id="now-announcement" class="hidden" role="status" />
    <div id="now-headline">
      <Headline now={now} />
    </div>
    <div id="now-rest">
      <Rest now={now} />
    </div>
    <section class="charts" aria-label="The last minutes" data-offset={shownZone().minutes}>
      {CHARTS.map(([id, title, unit]) => (
        <figure class="chart">
          <figcaption>
            {title} <small>{unit}</small>
            <b id={`value-${id}`}>–</b>
          </figcaption>
          <div id={`chart-${id}`} class="plot" />
        </figure>
      ))}
    </section>
  </>
);

/** The verdict in large letters, and each trouble with what helps and the page that shows it. */
export function Headline({ now: { verdict } }: { now: Now }) {
  const { troubles, at } = verdict;
  return (
    <section class={`headline ${headlineSeverityOf(troubles)}`}>
      <h1>{headlineOf(troubles)}</h1>
      <Troubles troubles={troubles} now={at} />
    </section>
  );
}

/** The part of the page between the verdict and the charts. */
export const Rest = ({ now: { health, verdict } }: { now: Now }) => (
  <>
    {verdict.work === null || verdict.work.figures.toCome === 0 ? null : (
      <p>
        {formatCount(verdict.work.figures.toCome)} deliveries of replays are not pending yet, and still to
        come.
      </p>
    )}
    <section id="processes">
      <h2>Servers and processes</h2>
      <ul class="servers">
        <Server name="MySQL" state={health.mysql} roundTrip={health.mysqlRoundTrip} />
        <Server name="Redis" state={health.redis} roundTrip={health.redisRoundTrip} />
      </ul>
      {verdict.work === null ? null : (
        <Table
          caption="Processes"
          columns={processColumns(verdict.at)}
          rows={verdict.work.processes}
          empty="No process has been seen within the last hour."
        />
      )}
    </section>
  </>
);

const Server = (props: { name: string; state: ServerState; roundTrip: number | null }) => (
  <li>
    <Tag tone={props.state === 'ok' ? 'good' : 'bad'}>
      {props.state === 'ok' ? 'works' : predicateOf(props.state)}
    </Tag>{' '}
    {props.name}
    {props.roundTrip === null ? null : (
      <span class="calm"> in {formatDuration(Math.max(1, props.roundTrip))}</span>
    )}
  </li>
);

const processColumns = (at: Date): Column<ProcessSeen>[] => [
  {
    label: 'Roles',
    cell: ({ roles, running }) => (
      <>
        <Tag tone={running ? 'good' : 'bad'}>{running ? 'running' : 'gone'}</Tag> {roles.join(', ')}
      </>
    ),
  },
  {
    label: 'Host',
    kind: 'wide',
    cell: ({ name, host, pid }) => `${host}, process ${pid}${name === '' ? '' : `, ${name}`}`,
  },
  { label: 'Version', cell: ({ version }) => version },
  {
    label: 'Last seen',
    cell: ({ seenSecondsAgo, killedAt }) =>
      `${formatDuration(seenSecondsAgo * 1_000)} ago${killedAt === null ? '' : ', killed because it did not answer'}`,
  },
  { label: 'Running since', cell: ({ startedAt }) => <Moment at={startedAt} now={at} /> },
  { label: 'CPU', kind: 'number', cell: ({ cpuPercent }) => `${cpuPercent} %` },
  { label: 'Event loop', kind: 'number', cell: ({ loopDelayMs }) => `${loopDelayMs} ms` },
  { label: 'Memory', kind: 'number', cell: ({ memoryMib }) => `${formatCount(memoryMib)} MiB` },
];

const READ_EVERY = 2_000;

/** Ten minutes of readings. public/ops/now.js keeps the same number. */
const KEPT = 300;

/** Reads the installation while somebody looks at the page Now. All viewers share one reading. */
export const watchInstallation = (runtime: Pick<Runtime, 'database' | 'health'>): Poller<Now> =>
  createPoller({ read: createNowReader(runtime), every: READ_EVERY, kept: KEPT });

/** GET /ops, and the server-sent events that keep it and the head of all other pages (`brief`) up to date. */
export const nowRoutes = (watched: Poller<Now>): Hono<ApiEnv> =>
  new Hono<ApiEnv>()
    .get('/', async (c) => {
      const now = await watched.current();
      return sendPage(
        c,
        {
          title: titleOf(now),
          section: 'Now',
          scripts: ['uPlot.iife.min.js', 'now.js'],
          styles: ['uPlot.min.css'],
        },
        <NowPage now={now} />,
      );
    })
    .get('/now', (c) =>
      streamSSE(c, async (stream) => {
        const send = (event: object) => stream.writeSSE({ data: JSON.stringify(event) });
        const isBrief = c.req.query('brief') !== undefined;
        const eventOf = (now: Now, samples: object) => {
          const { severity, announcement } = render(now);
          return isBrief ? { severity, announcement } : { ...render(now), ...samples };
        };
        const first = await watched.current();
        await send(eventOf(first, { history: watched.history.map(({ sample }) => sample) }));
        if (watched.closed.aborted) return;
        // A reading is told outside of the request that chose the zone.
        const tell = AsyncLocalStorage.bind((now: Now) => void send(eventOf(now, { sample: now.sample })));
        const unsubscribe = watched.subscribe(tell);
        await new Promise<void>((resolve) => {
          stream.onAbort(resolve);
          watched.closed.addEventListener('abort', () => resolve(), { once: true });
        });
        unsubscribe();
      }),
    );

const rendered = new WeakMap<Now, Map<string, ReturnType<typeof renderParts>>>();

/** The parts of the page that change, rendered once for all viewers with the same zone. */
function render(now: Now) {
  const zone = shownZone().text;
  const zones = rendered.get(now) ?? new Map<string, ReturnType<typeof renderParts>>();
  rendered.set(now, zones);
  const known = zones.get(zone) ?? renderParts(now);
  zones.set(zone, known);
  return known;
}

function renderParts(now: Now) {
  const { troubles } = now.verdict;
  return {
    headline: String(<Headline now={now} />),
    rest: String(<Rest now={now} />),
    severity: headlineSeverityOf(troubles),
    title: `${titleOf(now)} · Ledgerbell`,
    announcement: headlineOf(troubles),
  };
}

/** The title of the browser's tab. It shows in the background whether something is wrong. */
function titleOf({ verdict: { troubles } }: Now): string {
  const count = troubles.reduce((sum, it) => sum + it.count, 0);
  return count === 0 ? 'All is well' : `(${count}) ${headlineOf(troubles).split(/[.;:]/, 1)[0]}`;
}
