import type { Child } from 'hono/jsx';
import { predicateOf, type ServerState } from '../../database/health.ts';
import type { ProcessSeen } from '../heartbeat.ts';
import { type Column, formatCount, formatDuration, Moment, Table, Tag } from '../page/elements.tsx';
import { SourcesInTrouble } from '../sources/source-columns.tsx';
import type { UnfinishedImport } from '../totals.ts';
import { WebhooksInTrouble, webhookColumns } from '../webhooks/webhook-columns.tsx';
import { type Alert, findAlerts, headlineOf } from './alerts.ts';
import type { Now } from './now-reader.ts';

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
    <section class="charts" aria-label="The last minutes" data-live="/ops/now">
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
    <div id="now-rest">
      <Rest now={now} />
    </div>
  </>
);

/** The alerts in large letters, with their links. */
export function Headline({ now }: { now: Now }) {
  const alerts = findAlerts(now);
  const severity = alerts[0]?.severity ?? 'well';
  const headline = headlineOf(alerts);
  const named = alerts.find(({ sentence }) => sentence === headline);
  const listed = alerts.filter((it) => it !== named);
  return (
    <section class={`headline ${severity}`}>
      <h1>{headline}</h1>
      {named?.link ? (
        <p>
          <a class="button" href={named.link.href}>
            {named.link.text}
          </a>
        </p>
      ) : null}
      {listed.length === 0 ? null : (
        <ul>
          {listed.map((alert) => (
            <AlertItem alert={alert} />
          ))}
        </ul>
      )}
    </section>
  );
}

const AlertItem = ({ alert: { severity, sentence, link } }: { alert: Alert }) => (
  <li class={severity}>
    <span>{sentence}</span>
    {link === null ? null : (
      <a class="button" href={link.href}>
        {link.text}
      </a>
    )}
  </li>
);

/** Everything below the charts. */
export const Rest = ({ now: { at, health, work } }: { now: Now }) => (
  <>
    {work === null ? null : (
      <>
        {work.totals.toCome === 0 ? null : (
          <p>
            {formatCount(work.totals.toCome)} deliveries of replays are not pending yet, and still to come.
          </p>
        )}
        <section>
          <h2>
            <a href="/ops/webhooks">Webhooks in trouble</a>
          </h2>
          <WebhooksInTrouble rows={work.trouble} columns={webhookColumns(at)} />
        </section>
        <section>
          <h2>
            <a href="/ops/imports">Imports not done</a>
          </h2>
          <Table
            caption="Imports not done"
            columns={importColumns(at)}
            rows={work.imports}
            empty="None: every accepted import is stored."
          />
        </section>
        <section>
          <h2>
            <a href="/ops/sources">Sources in trouble</a>
          </h2>
          <SourcesInTrouble rows={work.sources} now={at} />
        </section>
      </>
    )}
    <section id="processes">
      <h2>Servers and processes</h2>
      <ul class="servers">
        <Server name="MySQL" state={health.mysql} roundTrip={health.mysqlRoundTrip} />
        <Server name="Redis" state={health.redis} roundTrip={health.redisRoundTrip} />
      </ul>
      {work === null ? null : (
        <Table
          caption="Processes"
          columns={processColumns(at)}
          rows={work.processes}
          empty="No process has been seen within the last hour."
        />
      )}
    </section>
  </>
);

const Server = ({
  name,
  state,
  roundTrip,
}: {
  name: string;
  state: ServerState;
  roundTrip: number | null;
}) => (
  <li>
    <Tag tone={state === 'ok' ? 'good' : 'bad'}>{state === 'ok' ? 'works' : predicateOf(state)}</Tag> {name}
    {roundTrip === null ? null : <span class="calm"> in {formatDuration(Math.max(1, roundTrip))}</span>}
  </li>
);

const importColumns = (at: Date): Column<UnfinishedImport>[] => [
  {
    label: 'Import',
    cell: ({ id }): Child => (
      <a class="id" href={`/ops/imports/${id}`}>
        {id}
      </a>
    ),
  },
  { label: 'Customer', cell: ({ customer }) => customer },
  {
    label: 'Status',
    cell: ({ status }) => <Tag tone={status === 'failed' ? 'bad' : 'calm'}>{status}</Tag>,
  },
  { label: 'Rows stored', kind: 'number', cell: ({ checkpoint }) => formatCount(checkpoint) },
  { label: 'Received', cell: ({ received_at }) => <Moment at={received_at} now={at} /> },
  { label: 'Error', kind: 'wide', cell: ({ error }) => error ?? '' },
];

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
  { label: 'Last seen', cell: ({ seenSecondsAgo }) => `${formatDuration(seenSecondsAgo * 1_000)} ago` },
  { label: 'Running since', cell: ({ startedAt }) => <Moment at={startedAt} now={at} /> },
  { label: 'CPU', kind: 'number', cell: ({ cpuPercent }) => `${cpuPercent} %` },
  { label: 'Event loop', kind: 'number', cell: ({ loopDelayMs }) => `${loopDelayMs} ms` },
  { label: 'Memory', kind: 'number', cell: ({ memoryMib }) => `${formatCount(memoryMib)} MiB` },
];
