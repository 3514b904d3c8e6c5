import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import type * as v from 'valibot';
import { hasThreeDecimals, showAmount } from '../../../packages/statements/src/amounts.ts';
import type { ApiEnv } from '../../http/app.ts';
import { countOf, formatCount, formatDuration, timesInARow } from '../../platform/text.ts';
import { check } from '../../platform/validation.ts';
import type { Trouble } from '../../verdict/trouble.ts';
import { formatExact } from './zone.ts';

/** Parts that several pages of the console share: filters, tables, links, forms, and how numbers, times and durations are written. */

/** The filters of a list, as they were typed. */
export type Filters = Record<string, string | null | undefined>;

/** The filters in the query string. Drops spaces around a value, because ids are often pasted. Leaves out empty fields. */
export const typedFilters = (c: Context<ApiEnv>): Partial<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(c.req.query()).flatMap(([name, value]) => {
      const trimmed = value.trim();
      return trimmed === '' ? [] : [[name, trimmed]];
    }),
  );

/**
 * Reads the filters of a list from the query string.
 * @throws {Problem} 422 with the name of the filter that is wrong.
 */
export const readFilters = <S extends v.GenericSchema>(c: Context<ApiEnv>, schema: S): v.InferOutput<S> =>
  check(schema, typedFilters(c));

/** The path of a list with these filters. Empty filters are left out. */
export function pathWith(path: string, filters: Filters): string {
  const given = Object.entries(filters).filter((it): it is [string, string] => Boolean(it[1]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

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
export const TemplateLink = (it: Titled) => <TitledLink to="/ops/templates/" {...it} />;
export const SourceLink = (it: Titled) => <TitledLink to="/ops/sources/" {...it} />;
export const ImportLink = ({ id }: { id: string | number }) => <IdLink to="/ops/imports/" id={id} />;
export const DeliveryLink = ({ id }: { id: string }) => <IdLink to="/ops/deliveries/" id={id} />;
export const MovementLink = ({ id }: { id: string }) => <IdLink to="/ops/trace?movement=" id={id} />;

export const CustomerLink = ({ id, name }: { id: string; name: string }) => (
  <a href={`/ops/customers/${id}`}>{name}</a>
);

const CUSTOMER = 'Customer';

/** The customer of each row, as a link to its page. */
export const customerColumn = <Row extends { customer_id: string; customer: string }>(): Column<Row> => ({
  label: CUSTOMER,
  kind: 'wide',
  cell: ({ customer_id, customer }) => <CustomerLink id={customer_id} name={customer} />,
});

/** The columns of a table whose rows all belong to the customer that the page is about. */
export const withoutCustomer = <Row,>(columns: readonly Column<Row>[]): Column<Row>[] =>
  columns.filter(({ label }) => label !== CUSTOMER);

/** The message after an action; none if `done` is not one of the actions that `messages` has. */
export const Done = (props: { done: string | undefined; messages: Readonly<Record<string, string>> }) =>
  props.done === undefined || !Object.hasOwn(props.messages, props.done) ? null : (
    <Notice tone="good">{props.messages[props.done]}</Notice>
  );

/** The form of a list's filters. @param further buttons after "Show". */
export const FilterForm = ({ children, further }: { children?: Child; further?: Child }) => (
  <form class="filters">
    {children}
    <button type="submit">Show</button>
    {further}
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
  /** The most characters. */
  most?: number;
  /** Why the value was refused. */
  mistake?: string | undefined;
}) => (
  <label>
    <span>{props.label}</span>
    <input
      name={props.name}
      value={props.value ?? ''}
      placeholder={props.hint}
      autocomplete="off"
      maxlength={props.most ?? 100}
      aria-invalid={props.mistake === undefined ? undefined : 'true'}
    />
    {props.mistake === undefined ? null : <span class="mistake"> {props.mistake}</span>}
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
