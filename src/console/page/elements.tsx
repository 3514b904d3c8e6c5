import type { Child } from 'hono/jsx';

/** Parts that several pages of the console share. */

/** A moment, shown as its distance from now. The exact time is shown on hover. */
export const Moment = ({ at, now = new Date() }: { at: Date | null; now?: Date }) =>
  at === null ? (
    <span class="calm">–</span>
  ) : (
    <time datetime={at.toISOString()} title={formatUtc(at)}>
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

/** The link to the next page of a list. */
export const More = ({ href, label }: { href: string | null; label: string }) =>
  href === null ? null : (
    <p class="more">
      <a href={href} rel="next">
        {label}
      </a>
    </p>
  );

export const WebhookLink = ({ id, title }: { id: string; title: string }) => (
  <a href={`/ops/webhooks/${id}`}>
    <span class="id">{id}</span> {title}
  </a>
);

export const DeliveryLink = ({ id }: { id: string }) => (
  <a class="id" href={`/ops/deliveries/${id}`}>
    {id}
  </a>
);

/** A form field for a filter of a list. */
export const Field = ({
  label,
  name,
  value,
  hint,
}: {
  label: string;
  name: string;
  value: string | undefined;
  hint?: string;
}) => (
  <label>
    <span>{label}</span>
    <input name={name} value={value ?? ''} placeholder={hint} autocomplete="off" maxlength={100} />
  </label>
);

export const Choice = ({
  label,
  name,
  value,
  choices,
}: {
  label: string;
  name: string;
  value: string | undefined;
  choices: readonly (readonly [value: string, label: string])[];
}) => (
  <label>
    <span>{label}</span>
    <select name={name}>
      {choices.map(([choice, text]) => (
        <option value={choice} selected={choice === (value ?? '')}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

/** How the console writes numbers, times and durations. */

export { countOf, formatCount, timesInARow } from '../../platform/text.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in its two largest units: `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function formatDuration(milliseconds: number): string {
  const length = Math.max(0, milliseconds);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return two(length, MINUTE, 'min', SECOND, 's');
  if (length < DAY) return two(length, HOUR, 'h', MINUTE, 'min');
  return two(length, DAY, 'd', HOUR, 'h');
}

function two(length: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((length % large) / small);
  return `${Math.floor(length / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}

/** UTC, as in the logs: `2026-01-31 12:00:00 UTC`. */
export const formatUtc = (moment: Date): string =>
  `${moment.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `3 min ago`, or `in 20 s` for a moment in the future. */
function formatDistance(moment: Date, now: Date): string {
  const ago = now.getTime() - moment.getTime();
  if (Math.abs(ago) < SECOND) return 'now';
  return ago > 0 ? `${formatDuration(ago)} ago` : `in ${formatDuration(-ago)}`;
}

/** `99.8 %`; null: `–`. */
export const formatShare = (share: number | null): string =>
  share === null ? '–' : `${(Math.floor(share * 1000) / 10).toString()} %`;
