import { renderTable } from '../src/cli/output.ts';
import type { Report, Result, Spread } from './summary.ts';

const HEADING = ['', 'measured', 'baseline', 'ratio', 'wanted', 'met', 'server'];
const NUMBERS = [1, 2, 3, 4];

/** For a terminal: two lines per result, with its numbers and with their unit, under the name of its figure. */
export function renderTerminal(report: Report): string[] {
  const rows = report.results.flatMap((result, at) => {
    const { name, baseline, server } = result;
    const numbers = [show(result.value), ...columnsOf(result), server];
    return [
      ...(report.results[at - 1]?.figure === result.figure ? [] : [[result.figure]]),
      [`  ${name}`, ...numbers],
      [`    ${unitOf(result)}${baseline === undefined ? '' : `, against ${baseline.name}`}`],
    ];
  });
  return [describe(report), '', ...renderTable([HEADING, ...rows], { right: NUMBERS })];
}

/** For bench/README.md. */
export function renderMarkdown(report: Report): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    describe(report),
    '',
    line(['what', 'measured', 'against', 'baseline', 'ratio', 'wanted', 'met', 'server', 'day']),
    line(['---', '---:', '---', '---:', '---:', '---:', '---', '---', '---']),
    ...report.results.map((result) => {
      const [baseline = '', ...rest] = columnsOf(result);
      return line([
        `${result.name}, ${unitOf(result)}`,
        show(result.value),
        result.baseline?.name ?? '–',
        baseline,
        ...rest,
        result.server,
        result.date ?? report.date,
      ]);
    }),
  ];
}

function describe({ date, cpu, node, redis, results }: Report): string {
  const rounds = [...new Set(results.map((result) => result.rounds))].sort((a, b) => b - a);
  const servers = [...new Set(results.map(({ server }) => server))];
  return `${date}: ${cpu.count} × ${cpu.model}, Node ${node}, Redis ${redis}, ${servers.join(', ')}. Medians (least to greatest); rounds: ${rounds.join(' or ')}.`;
}

const unitOf = ({ unit, pooled }: Result): string => (pooled ? `${unit}, all rounds pooled` : unit);

const columnsOf = ({ baseline, wanted, met }: Result): string[] => [
  baseline === undefined ? '–' : show(baseline.value),
  baseline === undefined ? '–' : showRatio(baseline.ratio),
  wanted === undefined ? '–' : showWanted(wanted),
  met === undefined ? '–' : met ? 'yes' : 'no',
];

export const showWanted = (wanted: NonNullable<Result['wanted']>): string =>
  'atLeast' in wanted ? `≥ ${wanted.atLeast}` : `≤ ${wanted.atMost}`;

export const showRatio = (ratio: Spread): string => showSpread(ratio, 2);

/** Shows as many digits as are meaningful: 12,345 or 1.25. */
function show(spread: Spread): string {
  const { median } = spread;
  return showSpread(spread, median >= 100 ? 0 : median >= 10 ? 1 : 2);
}

function showSpread({ median, min, max }: Spread, digits: number): string {
  const [middle, least, greatest] = [median, min, max].map((value) =>
    value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  );
  return min === max ? `${middle}` : `${middle} (${least} to ${greatest})`;
}
