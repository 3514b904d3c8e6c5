import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import * as v from 'valibot';
import { describeUnlisted, WithdrawalPlanView } from '../../intake/withdrawal-plan-view.ts';
import { WithdrawalView } from '../../intake/withdrawal-view.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { countOf, formatCount } from '../../platform/text.ts';
import type { Api } from '../api-client.ts';
import { type CreateCommand, confirm, listCommand, subjectCommand } from '../api-command.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { Failure, NegativeAnswer } from '../context.ts';
import { type Column, formatTime, renderColumns, renderFacts } from '../output.ts';
import { parseId } from '../values.ts';

/** The commands that withdraw imports and statements, and show withdrawals. */

/** A withdrawal as the API shows it. */
const Withdrawal = v.looseObject(WithdrawalView.entries);
type Withdrawal = v.InferOutput<typeof Withdrawal>;
const WithdrawalAnswer = v.object({ withdrawal: Withdrawal });

const describeWithdrawal = (it: Withdrawal, zone: ZoneOffset): string =>
  renderFacts([
    ['withdrawal', it.id],
    ['import', it.import_id],
    ['statement', it.statement_id ?? 'all of the import'],
    ['status', it.status],
    ['withdrawn', formatCount(it.withdrawn)],
    ['kept', formatCount(it.kept)],
    ['reason', it.reason],
    ['requested', formatTime(it.created_at, zone)],
    ['finished', formatTime(it.finished_at, zone)],
  ]);

type Plan = WithdrawalPlanView['withdrawal'];
type Movement = WithdrawalPlanView['transactions'][number];

const MOVEMENTS: readonly Column<Movement>[] = [
  ['id', ({ id }) => id, 'right'],
  ['', ({ outcome }) => outcome],
  ['date', ({ date_issue }) => date_issue],
  ['account', ({ account_id }) => account_id, 'right'],
  ['dc', ({ dc }) => dc],
  ['amount', ({ amount }) => amount, 'right'],
  ['currency', ({ account }) => account.currency],
  ['description', ({ description }) => description],
];

const COMPLETENESS: readonly Column<Plan['completeness'][number]>[] = [
  ['account', ({ account_id }) => account_id, 'right'],
  ['statements now', ({ before }) => before],
  ['afterwards', ({ after }) => after],
];

/** `1,204 movements withdrawn, 3 kept` */
const describeCounts = ({ withdrawn, kept, is_whole }: Plan): string =>
  `${is_whole ? '' : 'at least '}${countOf(withdrawn, 'movement')} withdrawn, ${formatCount(kept)} kept`;

function describePlan({ withdrawal, transactions }: WithdrawalPlanView): string {
  const { completeness, statements, matched } = withdrawal;
  const left = matched - transactions.length;
  const movements = [
    ...(transactions.length === 0 ? [] : [renderColumns(MOVEMENTS, transactions)]),
    ...(left > 0 ? [`… and ${formatCount(left)} more`] : []),
  ];
  const summary = [
    `Nothing was withdrawn. It would be: ${describeCounts(withdrawal)}; ${countOf(statements, 'statement')} withdrawn.`,
    describeUnlisted(withdrawal),
  ].filter((line) => line !== null);
  return [movements, completeness.length === 0 ? [] : [renderColumns(COMPLETENESS, completeness)], summary]
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

interface WithdrawOptions extends AccessOptions {
  reason: string;
  dryRun?: boolean;
  wait?: boolean;
  yes?: boolean;
}

/** Creates the command `withdraw` of a group. */
export const withdrawCommand =
  (kind: 'import' | 'statement', description: string): CreateCommand =>
  (context) =>
    addAccessOptions(new Command('withdraw').description(description))
      .argument('<id>', `of the ${kind}`, parseId)
      .requiredOption('--reason <text>', 'why; it is shown with each movement that is withdrawn')
      .option('--dry-run', 'show what would be withdrawn and kept, and withdraw nothing')
      .option('--wait', 'wait for the end of the withdrawal; the exit code is 1 if it failed')
      .option('--yes', 'do not ask')
      .action(async (id: string, options: WithdrawOptions) => {
        const { terminal, signal } = context;
        const { json, reason } = options;
        const { zone } = context.readConfig();
        const path = `/v1/${kind}s/${id}/withdraw`;
        const about = { subject: { kind, id } };
        await withAccess(context, options, about, async (api) => {
          const plan = () => api.post(`${path}?dry_run=true`, { reason }, WithdrawalPlanView);
          if (options.dryRun === true) {
            const answer = await plan();
            terminal.answer(json, answer, describePlan(answer));
            return;
          }
          if (options.yes !== true && context.ask !== undefined) {
            const { withdrawal } = await plan();
            await confirm(context, options, `Withdraw ${kind} ${id}: ${describeCounts(withdrawal)}?`);
          }
          const { withdrawal: accepted } = await api.post(path, { reason }, WithdrawalAnswer);
          const withdrawal = options.wait === true ? await waitForEnd(api, accepted, signal) : accepted;
          terminal.answer(json, { withdrawal }, describeWithdrawal(withdrawal, zone));
          if (options.wait === true && withdrawal.status === 'failed')
            throw new NegativeAnswer('the withdrawal has failed');
        });
      });

const POLL_INTERVAL = 300;

async function waitForEnd(api: Api, accepted: Withdrawal, signal: AbortSignal): Promise<Withdrawal> {
  for (let state = accepted; ; ) {
    if (state.status === 'done' || state.status === 'failed') return state;
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure(`Interrupted. Withdrawal ${state.id} goes on while the service runs.`);
    });
    state = (await api.get(`/v1/withdrawals/${state.id}`, WithdrawalAnswer)).withdrawal;
  }
}

/** `ledgerbell statements` */
export const statements: readonly CreateCommand[] = [
  withdrawCommand('statement', 'take back a statement that the bank has replaced, with its movements'),
];

/** `ledgerbell withdrawals` */
export const withdrawals: readonly CreateCommand[] = [
  listCommand({
    description: 'show withdrawals, the newest first',
    path: '/v1/withdrawals',
    name: 'withdrawals',
    row: Withdrawal,
    columns: (zone) => [
      ['id', ({ id }) => id, 'right'],
      ['status', ({ status }) => status],
      ['import', ({ import_id }) => import_id, 'right'],
      ['statement', ({ statement_id }) => statement_id ?? 'all', 'right'],
      ['withdrawn', ({ withdrawn }) => formatCount(withdrawn), 'right'],
      ['kept', ({ kept }) => formatCount(kept), 'right'],
      ['requested', ({ created_at }) => formatTime(created_at, zone)],
      ['reason', ({ reason }) => reason],
    ],
  }),
  subjectCommand('withdrawal', {
    name: 'show',
    description: 'show how far a withdrawal is',
    request: (api, id) => api.get(`/v1/withdrawals/${id}`, WithdrawalAnswer),
    text: ({ withdrawal }, _, zone) => describeWithdrawal(withdrawal, zone),
  }),
];
