import { Command, Option } from 'commander';
import { HASH_ENCODINGS } from '../../database/entities/webhook.ts';
import { WebhookChange } from '../../webhooks/input.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { parseId, parseWholeNumber, readOptions } from '../values.ts';
import { describeWebhook, WebhookAnswer } from './webhooks-view.ts';

interface Options extends AccessOptions {
  title?: string;
  description?: string;
  endpoint?: string;
  hashEncoding?: string;
  ordered?: boolean;
  rateLimit?: number | 'none';
  maxInFlight?: number;
}

const parseRateLimit = (text: string): number | 'none' => (text === 'none' ? text : parseWholeNumber(text));

/** `ledgerbell webhooks change` */
export const changeWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('change').description('change where, how fast and how notifications are sent'))
    .argument('<id>', 'of the webhook', parseId)
    .option('--title <title>', 'what the webhook is called')
    .option('--description <text>', 'what you want to note about it, at most 500 characters; "": nothing')
    .option('--endpoint <url>', 'where notifications are sent, also those that are pending')
    .addOption(new Option('--hash-encoding <encoding>', 'of the field hash').choices([...HASH_ENCODINGS]))
    .option('--ordered', 'send one notification at a time, in order')
    .option('--no-ordered', 'send several at the same time')
    .option('--rate-limit <number>', 'how many notifications per second at most; "none": any', parseRateLimit)
    .option('--max-in-flight <number>', 'how many notifications at the same time at most', parseWholeNumber)
    .action(async (id: string, options: Options) => {
      const { title, description, endpoint, hashEncoding, ordered, rateLimit, maxInFlight } = options;
      const given = Object.entries({
        title,
        description,
        endpoint,
        hash_encoding: hashEncoding,
        ordered,
        rate_limit: rateLimit === 'none' ? null : rateLimit,
        max_in_flight: maxInFlight,
      }).filter(([, value]) => value !== undefined);
      if (given.length === 0)
        throw new Failure('Say what to change, such as --max-in-flight 16. --help lists the options.');
      // Checked before anything is connected to or started.
      const change = readOptions(WebhookChange, Object.fromEntries(given));
      const subject = { kind: 'webhook', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.patch(`/v1/webhooks/${id}`, change, WebhookAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeWebhook(answer.webhook, zone));
    });
