import { type Health, sentenceOf } from '../../database/health.ts';
import type { SourceSummary } from '../../sources/find-source.ts';
import { areHeartbeatsSettled, countRunning, findProcessProblems } from '../heartbeat.ts';
import { countOf, formatDuration, timesInARow } from '../page/elements.tsx';
import { andToCome, type WebhookRow } from '../webhooks/webhook-rows.ts';
import type { Now, Work } from './now-reader.ts';

/** The worst comes first. stopped: nothing works until somebody acts. failing: something does not work. attention: somebody should look. */
const SEVERITIES = ['stopped', 'failing', 'attention'] as const;

/** A problem, in one sentence for the person on duty. */
export interface Alert {
  severity: (typeof SEVERITIES)[number];
  sentence: string;
  /** Where to look, or what to press. */
  link: { text: string; href: string } | null;
}

/** The current alerts, the worst first. Empty: there is no problem. */
export function findAlerts({ health, hostProblems, work, at }: Now): Alert[] {
  const servers = serverAlerts(health, work !== null);
  const hosts = hostProblems.map((sentence): Alert => ({ severity: 'failing', sentence, link: null }));
  if (work === null) return [...servers, ...hosts];
  const alerts = [
    ...servers,
    ...(health.mysql === 'ok' ? missingRoles(work) : []),
    ...hosts,
    ...findProcessProblems(work.processes, health).map(
      (sentence): Alert => ({ severity: 'failing', sentence, link: PROCESSES }),
    ),
    ...failingWebhooks(work, at),
    ...stoppedWebhooks(work),
    ...stuckImports(work),
    ...failedImports(work),
    ...sourceAlerts(work),
    ...webhooksBehind(work, at),
    ...openConflicts(work),
  ];
  return SEVERITIES.flatMap((severity) => alerts.filter((it) => it.severity === severity));
}

const PROCESSES = { text: 'Processes', href: '/ops#processes' };
const SERVERS = { text: 'Servers', href: '/ops#processes' };

/** What is wrong with MySQL and Redis, and what that means for the work. */
function serverAlerts({ mysql, redis }: Health, isReadable: boolean): Alert[] {
  const alertOf = (server: string, state: string, consequence: string): Alert[] =>
    state === 'ok'
      ? []
      : [{ severity: 'stopped', sentence: `${sentenceOf(server, state)} ${consequence}`, link: SERVERS }];
  return [
    ...alertOf(
      'MySQL',
      mysql,
      isReadable
        ? 'Imports are answered with 503, and deliveries wait. What was accepted is stored in MySQL.'
        : 'Nothing is accepted, and nothing is delivered. What was accepted is stored in MySQL.',
    ),
    ...alertOf(
      'Redis',
      redis,
      'Imports are still accepted. Work that has not begun waits until Redis is back, and nothing is lost.',
    ),
  ];
}

const openConflicts = ({ openConflicts: count }: Work): Alert[] =>
  count === 0
    ? []
    : [
        {
          severity: 'attention',
          sentence: `${countOf(count, 'conflict waits', 'conflicts wait')} for a decision: a known movement came with another amount, direction or date.`,
          link: { text: 'Books', href: '/ops/books' },
        },
      ];

/** The consequence while no process has a role. */
const WITHOUT_ROLE = {
  delivery: 'No delivery process is running',
  api: 'No API process is running',
  importer: 'No importer is running',
  maintenance: 'No maintenance process is running',
} as const;

function missingRoles({ processes, totals }: Work): Alert[] {
  if (!areHeartbeatsSettled(processes)) return [];
  const waiting = {
    delivery: `${countOf(totals.pending, 'delivery', 'deliveries')} pending.`,
    api: 'No request is answered.',
    importer: `${countOf(totals.imports.queued + totals.imports.running, 'import')} waiting.`,
    maintenance: 'What Redis forgets is not queued again.',
  };
  return (Object.keys(WITHOUT_ROLE) as (keyof typeof WITHOUT_ROLE)[])
    .filter((role) => countRunning(processes, role) === 0)
    .map((role) => ({
      severity: 'stopped' as const,
      sentence: `${WITHOUT_ROLE[role]}. ${waiting[role]}`,
      link: PROCESSES,
    }));
}

/** The first failing webhooks are named. The others are counted. */
const NAMED = 3;

const isFailing = ({ status, failing_since }: WebhookRow) => status === 'active' && failing_since !== null;

function failingWebhooks({ trouble, totals }: Work, at: Date): Alert[] {
  const failing = trouble.filter(isFailing);
  const named = failing.slice(0, NAMED).map(
    (it): Alert => ({
      severity: 'failing',
      sentence: [
        `${it.customer}: webhook ${it.id} “${it.title}” has been failing for ${formatDuration(
          at.getTime() - (it.failing_since ?? at).getTime(),
        )}, ${countOf(Number(it.pending), 'delivery', 'deliveries')} pending${andToCome(it)}.`,
        ...(it.last_error === null ? [] : [`Last error: ${it.last_error}.`.replace('..', '.')]),
      ].join(' '),
      link: { text: `Webhook ${it.id}`, href: `/ops/webhooks/${it.id}` },
    }),
  );
  if (failing.length <= NAMED) return named;
  const others = Math.max(totals.failing, failing.length) - NAMED;
  return [
    ...named,
    {
      severity: 'failing',
      sentence: `${countOf(others, 'more webhook is', 'more webhooks are')} failing.`,
      link: { text: 'Webhooks', href: '/ops/webhooks' },
    },
  ];
}

/** Webhooks that the service has quarantined or disabled. The webhook is named if there is only one. */
function stoppedWebhooks({ trouble, totals }: Work): Alert[] {
  const quarantined = trouble.filter(({ status }) => status === 'paused');
  const disabled = trouble.filter(({ status }) => status === 'disabled');
  return [
    ...(totals.quarantined === 0
      ? []
      : [
          {
            severity: 'failing' as const,
            sentence: `${nameOf(quarantined, totals.quarantined, 'was', 'were')} paused, because delivery runs kept crashing.`,
            link: linkTo(quarantined),
          },
        ]),
    ...(disabled.length === 0
      ? []
      : [
          {
            severity: 'attention' as const,
            sentence: `${nameOf(disabled, disabled.length, 'is', 'are')} disabled, because the endpoint was gone or failed for five days.`,
            link: linkTo(disabled),
          },
        ]),
  ];
}

function nameOf(rows: readonly WebhookRow[], count: number, is: string, are: string): string {
  const [only] = count === 1 ? rows : [];
  return only === undefined
    ? countOf(count, `webhook ${is}`, `webhooks ${are}`)
    : `${only.customer}: webhook ${only.id} “${only.title}” ${is}`;
}

const linkTo = (rows: readonly WebhookRow[]) =>
  rows.length === 1 && rows[0]
    ? { text: `Webhook ${rows[0].id}`, href: `/ops/webhooks/${rows[0].id}` }
    : { text: 'Webhooks', href: '/ops/webhooks' };

/** A file that could not be read is no alert after a day, because its sender must correct it. */
function failedImports({ totals: { importsFailedLately: number }, imports: listed }: Work): Alert[] {
  if (number === 0) return [];
  const failed = listed.filter(({ status }) => status === 'failed');
  const [only] = number === 1 && failed.length === 1 ? failed : [];
  return [
    {
      severity: 'failing',
      sentence:
        only === undefined
          ? `${countOf(number, 'import has', 'imports have')} failed.`
          : `Import ${only.id} of ${only.customer} has failed. ${only.error ?? ''}`.trimEnd(),
      link:
        only === undefined
          ? { text: 'Failed imports', href: '/ops/imports?status=failed' }
          : { text: `Import ${only.id}`, href: `/ops/imports/${only.id}` },
    },
  ];
}

/** No alert if there is no importer, because another alert says that. */
function stuckImports({ totals: { importsStuck }, processes }: Work): Alert[] {
  if (importsStuck === 0 || countRunning(processes, 'importer') === 0) return [];
  return [
    {
      severity: 'failing',
      sentence: `${countOf(importsStuck, 'import has', 'imports have')} been waiting for more than 5 minutes, and nothing of the same customer is stored. A transaction in MySQL may hold a lock.`,
      link: { text: 'Imports', href: '/ops/imports' },
    },
  ];
}

/** Webhooks with an old backlog although their endpoints answer. */
function webhooksBehind({ trouble }: Work, at: Date): Alert[] {
  const behind = trouble.filter(({ behindSince }) => behindSince !== undefined);
  const named = behind.slice(0, NAMED).map(
    (it): Alert => ({
      severity: 'attention',
      sentence: `${it.customer}: webhook ${it.id} “${it.title}” is behind. Its endpoint answers, but its oldest pending delivery has been waiting for ${formatDuration(
        at.getTime() - (it.behindSince ?? at).getTime(),
      )}, ${countOf(Number(it.pending), 'delivery', 'deliveries')} pending${andToCome(it)}.`,
      link: { text: `Webhook ${it.id}`, href: `/ops/webhooks/${it.id}` },
    }),
  );
  if (behind.length <= NAMED) return named;
  return [
    ...named,
    {
      severity: 'attention',
      sentence: 'More webhooks are behind.',
      link: { text: 'Webhooks', href: '/ops/webhooks' },
    },
  ];
}

/** The sentence on top of the page Now. */
export function headlineOf(alerts: readonly Alert[]): string {
  const [first] = alerts;
  if (first === undefined) return 'All is well.';
  if (first.severity === 'stopped') return first.sentence;
  const failing = alerts.filter(({ severity }) => severity === 'failing').length;
  if (failing > 0)
    return alerts.length === 1
      ? first.sentence
      : `${countOf(alerts.length, 'thing is', 'things are')} wrong.`;
  return 'Everything works. Somebody should look at this:';
}

/** The alerts of sources, for the sentence on top of the page Now. */

/** The first failing sources are named. The others are counted. */
const NAMED_SOURCES = 3;

const linkToSource = (it: SourceSummary) => ({ text: `Source ${it.id}`, href: `/ops/sources/${it.id}` });
const LIST = { text: 'Sources', href: '/ops/sources' };

/** Sources whose runs fail, and sources with a file that could not be imported. */
function sourceAlerts({ sources, sourcesInTrouble }: Pick<Work, 'sources' | 'sourcesInTrouble'>): Alert[] {
  const { failing, withWrongFile } = sourcesInTrouble;
  const named = sources.filter((it) => it.consecutive_failures > 0).slice(0, NAMED_SOURCES);
  const others = failing - named.length;
  const [wrong] = withWrongFile === 1 ? sources.filter((it) => it.consecutive_failures === 0) : [];
  return [
    ...named.map(
      (it): Alert => ({
        severity: 'failing',
        sentence: `${it.customer}: source ${it.id} “${it.title}” has failed ${timesInARow(it.consecutive_failures)}. Last error: ${it.error}`,
        link: linkToSource(it),
      }),
    ),
    ...(others > 0
      ? [
          {
            severity: 'failing' as const,
            sentence: `${countOf(others, 'more source is', 'more sources are')} failing.`,
            link: LIST,
          },
        ]
      : []),
    ...(withWrongFile === 0
      ? []
      : [
          {
            severity: 'attention' as const,
            sentence:
              wrong === undefined
                ? `${countOf(withWrongFile, 'source has', 'sources have')} brought a file that could not be imported, or not all of it.`
                : `${wrong.customer}: source ${wrong.id} “${wrong.title}” has brought a file that could not be imported, or not all of it. ${wrong.error}`,
            link: wrong === undefined ? LIST : linkToSource(wrong),
          },
        ]),
  ];
}
