import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import * as v from 'valibot';
import { countOf } from '../../counts.ts';
import type { Api } from '../api-client.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure, NegativeAnswer } from '../failure.ts';
import { oneLine } from '../table-output.ts';
import { parseId } from '../values.ts';
import { SourceAnswer, SourceRun } from './sources-view.ts';

const POLL_INTERVAL = 300;

/** Of the runs that may have begun since the request, the one that was asked for is not further down the list. */
const LOOKED_AT = 20;

const Requested = v.looseObject({ ...SourceAnswer.entries, previous_run_id: v.nullable(v.number()) });
const Runs = v.object({ runs: v.array(SourceRun) });

interface Options extends AccessOptions {
  wait?: boolean;
}

/** `ledgerbell sources run` */
export const runSourceCommand = (context: CommandContext) =>
  addAccessOptions(new Command('run').description('run a source now, whatever its schedule'))
    .argument('<id>', 'of the source', parseId)
    .option('--wait', 'wait for the end of the run; the exit code is 1 if it failed')
    .action(async (id: string, options: Options) => {
      const subject = { kind: 'source', id } as const;
      await withAccess(context, options, { subject, wakes: true }, async (api) => {
        const answer = await api.post(`/v1/sources/${id}/run`, {}, Requested);
        if (options.wait !== true) {
          context.terminal.answer(options.json, answer, `Source ${id} will run.`);
          return;
        }
        const run = await waitForRun(api, id, answer.previous_run_id ?? 0, context.signal);
        context.terminal.answer(options.json, { run }, describeRun(run));
        if (run.status === 'failed') throw new NegativeAnswer();
      });
    });

/** Waits for the end of the first run that began after another one. */
async function waitForRun(api: Api, id: string, after: number, signal: AbortSignal): Promise<SourceRun> {
  for (;;) {
    const { runs } = await api.get(`/v1/sources/${id}/runs?per_page=${LOOKED_AT}`, Runs);
    const run = runs.findLast((it) => it.id > after);
    if (run !== undefined && run.status !== 'running') return run;
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure(`Interrupted. Source ${id} runs nevertheless.`);
    });
  }
}

function describeRun({ id, status, files, error }: SourceRun): string {
  return `Run ${id} is ${status}: ${countOf(files, 'file')}.${error === null ? '' : ` ${oneLine(error)}`}`;
}
