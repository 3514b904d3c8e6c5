import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import type * as v from 'valibot';
import { hasThreeDecimals, showAmount } from '../../../packages/statements/src/amounts.ts';
import { type AttemptRow, batchOf, postOf } from '../../delivery/attempts.ts';
import { type RejectedBatchRow, viewRejectedBatch } from '../../delivery/rejected-batches.ts';
import type { ApiEnv } from '../../http/app.ts';
import { countOf, formatCount, formatDuration, timesInARow } from '../../platform/text.ts';
import { check } from '../../platform/validation.ts';

import type { Trouble } from '../../verdict/trouble.ts';
import { formatExact } from './zone.ts';

/**
 * Reads the filters of a list from the query string. Drops spaces around a value, because ids are often pasted. Leaves out empty fields.
 * @throws {Problem} 422 with the name of the filter that is wrong.
 */
export const readFilters = <S extends v.GenericSchema>(c: Context<ApiEnv>, schema: S): v.InferOutput<S> =>
  check(
    schema,
    Object.fromEntries(
      Object.entries(c.req.query()).flatMap(([name, value]) => {
        const trimmed = value.trim();
        return trimmed === '' ? [] : [[name, trimmed]];
      }),
    ),
  );

/** The filters of a list, as they were typed. */
export type Filters = Record<string, string | null | undefined>;

/** The path of a list with these filters. Empty filters are left out. */
export function pathWith(path: string, filters: Filters): string {
  const given = Object.entries(filters).filter((it): it is [string, string] => Boolean(it[1]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** Parts that several pages of the console share. */

/** Troubles, each with what helps and the page that shows it. @param empty what to say if there is none. */
export const Troubles = ({
  troubles,
  now,
  empty,
}: {
  troubles: readonly Trouble[];
  now: Date;
  empty?: string;
}) =>
  troubles.length === 0 ? (
    empty === undefined ? null : (
      <p class="calm">{empty}</p>
    )
  ) : (
    <ul class="troubles">
      {troubles.map(({ severity, sentence, help, since, page }) => (
        <li class={severity}>
          <span>
            {sentence}{' '}
            <span class="calm">
              {help}
              {since === null ? null : (
                <>
                  {' '}
                  Since <Moment at={since} now={now} />.
                </>
              )}
            </span>
          </span>
          <LinkButton href={page.href} text={page.text} />
        </li>
      ))}
    </ul>
  );

/**
 * An amount in a column of amounts in several currencies. The decimal points stand below each other.
 * @param amount as the database has it.
 */
export const Money = ({ amount, currency }: { amount: string; currency: string }) => (
  <span class={hasThreeDecimals(currency) ? 'three-decimals' : 'two-decimals'}>
    {showAmount(amount, currency)}
  </span>
);

/** A moment, shown as its distance from now. The exact time is shown on hover. */
export const Moment = ({ at, now = new Date() }: { at: Date | null; now?: Date }) =>
  at === null ? (
    <span class="calm">–</span>
  ) : (
    <time datetime={at.toISOString()} title={formatExact(at)}>
      {formatDistance(at, now)}
    </time>
  );

/** The colour of a state. The text says the same, for people who do not see the colour. */
export type Tone = 'good' | 'bad' | 'warn' | 'calm';

export const Tag = ({ tone, children }: { tone: Tone; children?: Child }) => (
  <span class={`tag ${tone}`}>{children}</span>
);

/** A message about the page as a whole. */
export const Notice = ({ tone, children }: { tone: Tone; children?: Child }) => (
  <p class={`notice ${tone}`} role="status">
    {children}
  </p>
);

/** One column of a table. `label` is its heading. On screens that are too narrow for a table, `label` stands before each value. */
export interface Column<Row> {
  label: string;
  /** number: aligned to the right. wide: long texts, which may break anywhere. */
  kind?: 'number' | 'wide';
  cell: (row: Row) => Child;
}

/** A table, or one sentence if there are no rows. */
export function Table<Row>({
  caption,
  columns,
  rows,
  empty,
}: {
  /** For screen readers only. Everybody else sees the heading above the table. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  empty: string;
}) {
  if (rows.length === 0) return <p class="calm">{empty}</p>;
  return (
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, kind }) => (
            <th scope="col" class={kind}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {columns.map(({ label, kind, cell }) => (
              <td class={kind} data-label={label}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Facts about one thing, as names and values. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: Child])[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** The link to the next page of a list. `next` has its place in the list, by the name of its filter; null: there is none. */
export const More = (props: {
  label: string;
  path: string;
  filters?: Filters;
  next: Record<string, string | null | undefined>;
}) =>
  Object.values(props.next).every((place) => place == null) ? null : (
    <p class="more">
      <a href={pathWith(props.path, { ...props.filters, ...props.next })} rel="next">
        {props.label}
      </a>
    </p>
  );

/** A link that looks like a button. */
export const LinkButton = (props: { primary?: boolean; href: string; text: string }) => (
  <a class={props.primary ? 'button primary' : 'button'} href={props.href}>
    {props.text}
  </a>
);

/** Links to an object by its id. */
export const IdLink = ({ to, id }: { to: string; id: string | number }) => (
  <a class="id" href={`${to}${id}`}>
    {id}
  </a>
);

const TitledLink = ({ to, id, title }: { to: string; id: string; title: string }) => (
  <a href={`${to}${id}`}>
    <span class="id">{id}</span> {title}
  </a>
);

type Titled = Omit<Parameters<typeof TitledLink>[0], 'to'>;
export const WebhookLink = (it: Titled) => <TitledLink to="/ops/webhooks/" {...it} />;
export const SourceLink = (it: Titled) => <TitledLink to="/ops/sources/" {...it} />;
export const ImportLink = ({ id }: { id: string | number }) => <IdLink to="/ops/imports/" id={id} />;
export const DeliveryLink = ({ id }: { id: string }) => <IdLink to="/ops/deliveries/" id={id} />;
export const MovementLink = ({ id }: { id: string }) => <IdLink to="/ops/trace?movement=" id={id} />;

/** The customer of each row, as a link to the list of its rows at `path`. */
export const customerColumn = <Row extends { customer_id: string; customer: string }>(
  path: string,
): Column<Row> => ({
  label: 'Customer',
  kind: 'wide',
  cell: ({ customer_id, customer }) => <a href={`${path}?customer=${customer_id}`}>{customer}</a>,
});

/** The message after an action; none if `done` is not one of the actions that `messages` has. */
export const Done = (props: { done: string | undefined; messages: Readonly<Record<string, string>> }) =>
  props.done === undefined || !Object.hasOwn(props.messages, props.done) ? null : (
    <Notice tone="good">{props.messages[props.done]}</Notice>
  );

/** The form of a list's filters. */
export const FilterForm = ({ children }: { children?: Child }) => (
  <form class="filters">
    {children}
    <button type="submit">Show</button>
  </form>
);

/** The fields for the first and the last moment of a list. */
export const PeriodFields = (props: { since: string; until: string; filters: Filters }) => (
  <>
    <Field label={props.since} name="since" value={props.filters.since} hint="2026-01-31 12:00:00" />
    <Field label={props.until} name="until" value={props.filters.until} hint="2026-01-31 13:00:00" />
  </>
);

/** A form field for a filter of a list. */
export const Field = (props: {
  label: string;
  name: string;
  value: string | null | undefined;
  hint?: string;
}) => (
  <label>
    <span>{props.label}</span>
    <input
      name={props.name}
      value={props.value ?? ''}
      placeholder={props.hint}
      autocomplete="off"
      maxlength={100}
    />
  </label>
);

export const Choice = (props: {
  label: string;
  name: string;
  value: string | undefined;
  /** A choice that is its own label is named once. */
  choices: readonly (string | readonly [value: string, label: string])[];
}) => (
  <label>
    <span>{props.label}</span>
    <select name={props.name}>
      {props.choices
        .map((it) => (typeof it === 'string' ? ([it, it] as const) : it))
        .map(([choice, text]) => (
          <option value={choice} selected={choice === (props.value ?? '')}>
            {text}
          </option>
        ))}
    </select>
  </label>
);

/** How the console writes numbers, times and durations. */

export { countOf, formatCount, formatDuration, timesInARow };

const SECOND = 1_000;

/** `3 min ago`, or `in 20 s` for a moment in the future. */
function formatDistance(moment: Date, now: Date): string {
  const ago = now.getTime() - moment.getTime();
  if (Math.abs(ago) < SECOND) return 'now';
  return ago > 0 ? `${formatDuration(ago)} ago` : `in ${formatDuration(-ago)}`;
}

/** `99.8 %`; null: `–`. */
export const formatShare = (share: number | null): string =>
  share === null ? '–' : `${(Math.floor(share * 1000) / 10).toString()} %`;

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
