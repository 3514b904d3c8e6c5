import type { Child } from 'hono/jsx';
import { type AttemptRow, batchOf, postOf } from '../../delivery/attempts.ts';
import { type RejectedBatchRow, viewRejectedBatch } from '../../delivery/rejected-batches.ts';
import { countOf, formatCount, formatDuration } from '../../platform/text.ts';
import { type Column, DeliveryLink, Moment, Table, Tag, type Tone } from './elements.tsx';
import { formatExact } from './zone.ts';

/** Attempts as a picture and as a table. */

const WIDTH = 600;
const HEIGHT = 80;
const LEAST_BAR = 3;

const toneOf = (outcome: string): Tone =>
  outcome === 'delivered' ? 'good' : outcome === 'throttled' ? 'warn' : 'bad';

/** A POST with its events: one, or those of a batch. */
export interface Post<Row> {
  /** Its first event. */
  first: Row;
  events: Row[];
}

/** Puts the events of each batch together, at the place of the first. @param nameOf names the POST of an event; null: there was none. */
export function groupByPost<Row>(rows: readonly Row[], nameOf: (row: Row) => string | null): Post<Row>[] {
  const posts = new Map<unknown, Post<Row>>();
  for (const row of rows) {
    const name = nameOf(row) ?? row;
    const post = posts.get(name);
    if (post === undefined) posts.set(name, { first: row, events: [row] });
    else post.events.push(row);
  }
  return [...posts.values()];
}

/** The events of a batch, to be opened. An event of its own has no frame. */
export function Events<Row>({ events, show }: { events: readonly Row[]; show: (event: Row) => Child }) {
  const shown = events.map(show);
  if (events.length === 1) return <span>{shown}</span>;
  return (
    <details>
      <summary>{countOf(events.length, 'event')} of a batch</summary>
      <ul class="events">
        {shown.map((event) => (
          <li>{event}</li>
        ))}
      </ul>
    </details>
  );
}

/** How many of the events have each outcome or status, in the order in which they come. */
export const countEach = (names: readonly string[]): [name: string, count: number][] => [
  ...names.reduce((counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1), new Map<string, number>()),
];

/** A bar for each attempt, placed at its time. Its height shows how long the attempt took. The table below shows the same. */
function AttemptBars({ attempts }: { attempts: readonly AttemptRow[] }) {
  const times = attempts.map(({ started_at }) => started_at.getTime());
  const first = Math.min(...times);
  const last = Math.max(...times);
  if (attempts.length === 0) return null;
  const longest = Math.max(...attempts.map(({ duration_ms }) => duration_ms), 1);
  const x = (time: number) =>
    last === first ? WIDTH / 2 : 4 + ((time - first) / (last - first)) * (WIDTH - 8);
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Attempts over time"
      >
        {attempts.map(({ started_at, duration_ms, outcome }) => {
          const height = Math.max(LEAST_BAR, (duration_ms / longest) * HEIGHT);
          return (
            <rect
              class={toneOf(outcome)}
              x={(x(started_at.getTime()) - 1.5).toFixed(1)}
              y={(HEIGHT - height).toFixed(1)}
              width="3"
              height={height.toFixed(1)}
            />
          );
        })}
      </svg>
      <figcaption>
        <span>{formatExact(new Date(first))}</span>
        <span>
          up to {formatDuration(longest)}, <Tag tone="good">delivered</Tag> <Tag tone="bad">failed</Tag>
        </span>
        <span>{formatExact(new Date(last))}</span>
      </figcaption>
    </figure>
  );
}

/** The part of an endpoint's answer that is kept. */
export const Answer = ({ response, error }: { response: string | null; error: string | null }) => (
  <>
    {error === null ? null : <div>{error}</div>}
    {response === null || response === '' ? null : <code class="answer">{response}</code>}
  </>
);

/** The column with the batch of an attempt. Only for attempts of which one was in a batch. */
export const batchColumn = (attempts: readonly AttemptRow[]): Column<AttemptRow>[] =>
  attempts.every((it) => batchOf(it) === null)
    ? []
    : [{ label: 'Batch', kind: 'wide', cell: (it) => <code>{batchOf(it) ?? '–'}</code> }];

/** The columns that describe an attempt. */
export const attemptColumns = (now: Date): Column<AttemptRow>[] => [
  { label: 'Time', cell: ({ started_at }) => <Moment at={started_at} now={now} /> },
  {
    label: 'Outcome',
    cell: ({ outcome, status_code }) => (
      <Tag tone={toneOf(outcome)}>
        {outcome}
        {status_code === null ? '' : ` ${status_code}`}
      </Tag>
    ),
  },
  {
    label: 'Attempt',
    kind: 'number',
    cell: ({ number, posts }) => (posts > 1 ? `${number} (${posts} POSTs)` : number),
  },
  { label: 'Took', kind: 'number', cell: ({ duration_ms }) => formatDuration(duration_ms) },
  {
    label: 'Answer',
    kind: 'wide',
    cell: ({ response, error }) => <Answer response={response} error={error} />,
  },
];

/** The columns that describe a rejected batch. */
export const rejectedColumns = (now: Date): Column<RejectedBatchRow>[] => [
  { label: 'Time', cell: ({ started_at }) => <Moment at={started_at} now={now} /> },
  { label: 'Outcome', cell: ({ status_code }) => <Tag tone="warn">rejected {status_code}</Tag> },
  { label: 'Events', kind: 'number', cell: ({ events }) => events },
  { label: 'Took', kind: 'number', cell: ({ duration_ms }) => formatDuration(duration_ms) },
  { label: 'Answer', kind: 'wide', cell: ({ response }) => <Answer response={response} error={null} /> },
  { label: 'Batch', kind: 'wide', cell: (it) => <code>{viewRejectedBatch(it).batch}</code> },
];

/** The attempts of a webhook, the newest first. Those in a batch have one line. */
export function Timeline(props: { webhookId: string; attempts: readonly AttemptRow[]; now: Date }) {
  const posts = groupByPost(props.attempts, postOf);
  const [time, outcome, ...others] = attemptColumns(props.now);
  const ofFirst = ({ cell, ...column }: Column<AttemptRow>): Column<Post<AttemptRow>> => ({
    ...column,
    cell: ({ first }) => cell(first),
  });
  const columns: Column<Post<AttemptRow>>[] = [
    ...(time === undefined ? [] : [ofFirst(time)]),
    {
      label: 'Delivery',
      cell: ({ events }) => (
        <Events
          events={events}
          show={(it) => (
            <>
              <DeliveryLink id={`${props.webhookId}-${it.transaction_id}`} />
              {events.length === 1 || it.error === null ? null : ` ${it.error}`}
            </>
          )}
        />
      ),
    },
    {
      label: 'Outcome',
      cell: ({ first, events }) =>
        events.length === 1
          ? outcome?.cell(first)
          : countEach(events.map((it) => it.outcome)).map(([name, count]) => (
              <Tag tone={toneOf(name)}>
                {formatCount(count)} {name}
                {first.status_code === null ? '' : ` ${first.status_code}`}
              </Tag>
            )),
    },
    ...others.map(ofFirst),
  ];
  return (
    <>
      <AttemptBars attempts={posts.map(({ first }) => first)} />
      <Table caption="Attempts" columns={columns} rows={posts} empty="Nothing has been sent yet." />
    </>
  );
}
