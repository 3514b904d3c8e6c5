import type { AttemptRow } from '../../delivery/delivery.ts';
import {
  type Column,
  DeliveryLink,
  formatDuration,
  formatUtc,
  Moment,
  Table,
  Tag,
  type Tone,
} from './elements.tsx';

/** Attempts as a picture and as a table. */

const WIDTH = 600;
const HEIGHT = 80;
const LEAST_BAR = 3;

const toneOf = (outcome: string): Tone =>
  outcome === 'delivered' ? 'good' : outcome === 'throttled' ? 'warn' : 'bad';

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
        <span>{formatUtc(new Date(first))}</span>
        <span>
          up to {formatDuration(longest)}, <Tag tone="good">delivered</Tag> <Tag tone="bad">failed</Tag>
        </span>
        <span>{formatUtc(new Date(last))}</span>
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
  { label: 'Attempt', kind: 'number', cell: ({ number }) => number },
  { label: 'Took', kind: 'number', cell: ({ duration_ms }) => formatDuration(duration_ms) },
  {
    label: 'Answer',
    kind: 'wide',
    cell: ({ response, error }) => <Answer response={response} error={error} />,
  },
];

/** The attempts of a webhook, the newest first. */
export function Timeline({
  webhookId,
  attempts,
  now,
}: {
  webhookId: string;
  attempts: readonly AttemptRow[];
  now: Date;
}) {
  const [time, ...others] = attemptColumns(now);
  const delivery: Column<AttemptRow> = {
    label: 'Delivery',
    cell: ({ transaction_id }) => <DeliveryLink id={`${webhookId}-${transaction_id}`} />,
  };
  return (
    <>
      <AttemptBars attempts={attempts} />
      <Table
        caption="Attempts"
        columns={[...(time === undefined ? [] : [time]), delivery, ...others]}
        rows={attempts}
        empty="Nothing has been sent yet."
      />
    </>
  );
}
