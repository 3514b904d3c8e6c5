import { Command } from 'commander';
import * as v from 'valibot';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { NegativeAnswer } from '../failure.ts';
import { oneLine } from '../table-output.ts';
import { parseId } from '../values.ts';

const TestAnswer = v.object({
  test: v.looseObject({ status_code: v.nullable(v.number()), error: v.nullable(v.string()) }),
});

/** `ledgerbell webhooks test` */
export const testWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('test').description('send a sample notification now, and show the answer'))
    .argument('<id>', 'of the webhook', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'webhook', id } }, (api) =>
        api.post(`/v1/webhooks/${id}/test`, {}, TestAnswer),
      );
      const { status_code: status } = answer.test;
      context.terminal.answer(options.json, answer, describe(answer.test));
      if (status === null || status < 200 || status > 299) throw new NegativeAnswer();
    });

function describe({ status_code: status, error }: v.InferOutput<typeof TestAnswer>['test']): string {
  const reason = error === null ? '' : oneLine(error);
  if (status !== null) return reason === '' ? `Answered ${status}.` : `Answered ${status}: ${reason}.`;
  return reason === '' || reason === 'no answer' ? 'No answer.' : `Not sent: ${reason}.`;
}
