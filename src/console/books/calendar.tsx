import type { Completeness, Period, PeriodStatus } from '../../books/statement-chain.ts';
import type { Tone } from '../page/elements.tsx';

export const TONES: Record<Completeness | PeriodStatus, Tone> = {
  complete: 'good',
  incomplete: 'bad',
  contradictory: 'bad',
  gap: 'bad',
  contradiction: 'bad',
  overlap: 'warn',
  unknown: 'calm',
};

const MONTHS = 12;

/** The worst comes first. */
const SEVERITY: readonly PeriodStatus[] = ['contradiction', 'gap', 'overlap', 'complete'];

interface Day {
  /** YYYY-MM-DD */
  date: string;
  /** null: no statement covers the day. */
  status: PeriodStatus | null;
}

/** The last twelve months of an account from its first to its last statement, the newest first. */
export function monthsOf(periods: readonly Period[]): { month: string; days: Day[] }[] {
  const [first] = periods.map(({ from }) => from).toSorted();
  const last = periods
    .map(({ to }) => to)
    .toSorted()
    .at(-1);
  if (first === undefined || last === undefined) return [];
  const [year, month] = last.split('-').map(Number) as [number, number];
  return Array.from({ length: MONTHS }, (_, back) => {
    const length = new Date(Date.UTC(year, month - back, 0)).getUTCDate();
    const days = Array.from({ length }, (_, index): Day => {
      const date = new Date(Date.UTC(year, month - 1 - back, index + 1)).toISOString().slice(0, 10);
      const about = periods.filter(({ from, to }) => from <= date && date <= to);
      const status = SEVERITY.find((it) => about.some((period) => period.status === it));
      return { date, status: status ?? null };
    });
    return { month: days[0]?.date.slice(0, 7) ?? '', days };
  }).filter(({ month }) => month >= first.slice(0, 7));
}

/** The days of each month, marked as complete, missing or contradictory. */
export const Calendar = ({ periods }: { periods: readonly Period[] }) => (
  <>
    <h2>Calendar</h2>
    <p class="lead">
      Days of which statements have come. A dashed day is in a gap, one with a double border in a
      contradiction.
    </p>
    <dl class="calendar">
      {monthsOf(periods).map(({ month, days }) => (
        <div>
          <dt>{month}</dt>
          <dd>
            <ol>
              {days.map(({ date, status }) => (
                <li class={status === null ? '' : `${status} ${TONES[status]}`}>
                  <time datetime={date} title={`${date}: ${status ?? 'no statement'}`}>
                    {Number(date.slice(8))}
                  </time>
                </li>
              ))}
            </ol>
          </dd>
        </div>
      ))}
    </dl>
  </>
);
