import type { Command } from 'commander';
import * as v from 'valibot';
import { StatusView } from '../../api/status-document.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { formatCount } from '../../platform/text.ts';
import { headlineOf, type ToldTrouble, TROUBLE_KINDS } from '../../verdict/trouble.ts';
import { RefusedError, UnreachableError } from '../api-client.ts';
import { type CommandContext, Failure, NegativeAnswer } from '../context.ts';
import { createOperatorApi, findOperatorAccess, type OperatorAccess } from '../operator-client.ts';
import { type Column, formatTime, renderColumns, renderFacts } from '../output.ts';

/** The command `status`. */

/** How long the service has for its answer, which it gives within 6 s, whatever MySQL and Redis do. Milliseconds. */
const ANSWER_TIMEOUT = 9_000;

/** `ledgerbell status` */
export const defineStatus = (command: Command, context: CommandContext) =>
  command
    .option('--offline', 'look at MySQL and Redis without the service')
    .option('--json', 'print { "status", "problems", "troubles", "mysql", "redis", … }')
    .action(async ({ offline, json }: { offline?: boolean; json?: boolean }) => {
      const status = offline === true ? await readOffline(context) : await askService(context);
      context.terminal.answer(json, status, describe(status, context.readConfig().zone));
      if (status.problems.length > 0) throw new NegativeAnswer();
    });

async function readOffline(context: CommandContext): Promise<StatusView> {
  const { viewStatus } = await import('../../api/status-view.ts');
  const { readStatus } = await import('../status-report.ts');
  return viewStatus(await readStatus(context));
}

const OFFLINE = 'Without the service: ledgerbell status --offline';

/** @throws {Failure} when no service answers, or none in time. {Interruption} when the command is interrupted. */
async function askService(context: CommandContext): Promise<StatusView> {
  const access = find(context);
  const { signal } = context;
  const limit = AbortSignal.timeout(ANSWER_TIMEOUT);
  try {
    const api = createOperatorApi(access);
    return await api.get('/v1/verdict', v.looseObject(StatusView.entries), AbortSignal.any([signal, limit]));
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted)
      throw new Failure(
        `The service at ${access.url} has not answered within ${ANSWER_TIMEOUT / 1_000} s. ${OFFLINE}`,
      );
    throw withOffline(error);
  }
}

/** @throws {Failure} when no service can be found. */
function find(context: CommandContext): OperatorAccess {
  try {
    return findOperatorAccess(context);
  } catch (error) {
    throw withOffline(error);
  }
}

/** Adds how to look without the service, if none answers. */
function withOffline(error: unknown): unknown {
  const isSilent =
    error instanceof UnreachableError || (error instanceof RefusedError && error.status >= 500);
  return isSilent ? new Failure(`${error.message} ${OFFLINE}`) : error;
}

/** Whether this program knows the kind. That of the service may be newer. */
const isKnown = (kind: string): boolean => TROUBLE_KINDS.some((it) => it === kind);

function describe(status: StatusView, zone: ZoneOffset): string {
  const { imports, processes, troubles, deletions: deleting } = status;
  const count = (number: number | null) => (number === null ? null : formatCount(number));
  const facts = renderFacts([
    ['MySQL', status.mysql],
    ['Redis', status.redis],
    ['migrations', status.migrations],
    [
      'processes',
      processes &&
        Object.entries(processes)
          .map(([role, n]) => `${role} ${n}`)
          .join(', '),
    ],
    ['pending deliveries', count(status.pending)],
    ['of paused and disabled webhooks', count(status.held)],
    ['in feeds', count(status.pulled)],
    ['of replays, still to come', count(status.replays_to_come)],
    ['oldest pending', formatTime(status.oldest_pending_at, zone)],
    ['circuits open', count(status.circuits_open)],
    [
      'imports queued, running, failed',
      imports &&
        [imports.queued, imports.running, imports.failed].map((it) => formatCount(it ?? 0)).join(', '),
    ],
  ]);
  const deletions: readonly Column<NonNullable<StatusView['deletions']>[number]>[] = [
    ['deleting', ({ account_id }) => (account_id === null ? 'customer' : `account ${account_id}`)],
    ['customer', ({ customer_id }) => customer_id, 'right'],
    ['requested', ({ requested_at }) => formatTime(requested_at, zone)],
    ['movements deleted', ({ movements_deleted }) => formatCount(movements_deleted), 'right'],
    ['of', ({ movements }) => count(movements), 'right'],
  ];
  return [
    headlineOf(troubles.filter(({ kind }) => isKnown(kind)) as readonly ToldTrouble[]),
    facts,
    ...troubles.map(({ kind, severity, sentence, help, since, subject }) =>
      [
        `${severity}: ${sentence}`,
        ...(since === null ? [] : [`Since ${formatTime(since, zone)}.`]),
        // The console has a link to the page that shows the days.
        kind === 'statements_wrong' && subject
          ? `${help} Which days: ledgerbell verify --account ${subject.id}`
          : help,
      ].join('\n  '),
    ),
    ...(deleting === null || deleting.length === 0 ? [] : [renderColumns(deletions, deleting)]),
  ].join('\n\n');
}
