import { Command, Option } from 'commander';
import { ENCODINGS, HASH_ENCODINGS, WEBHOOK_EVENTS } from '../../database/entities/webhook.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseHeader, parseWholeNumber } from '../values.ts';
import { describeWebhook, WebhookAnswer } from './webhooks-view.ts';

interface Options extends AccessOptions {
  title: string;
  description?: string;
  endpoint: string;
  event: string;
  account: string;
  encoding?: string;
  hashEncoding?: string;
  ordered?: boolean;
  rateLimit?: number;
  maxInFlight?: number;
  header?: Record<string, string>;
}

/** `ledgerbell webhooks create` */
export const createWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('create').description('subscribe an endpoint to new movements'))
    .requiredOption('--title <title>', 'what the webhook is called')
    .option('--description <text>', 'what you want to note about it, at most 500 characters')
    .requiredOption('--endpoint <url>', 'where notifications are sent')
    .addOption(
      new Option('--event <event>', 'which movements')
        .choices([...WEBHOOK_EVENTS])
        .default('NEW_TRANSACTION'),
    )
    .option('--account <id>', 'of which account, or "all"', 'all')
    .addOption(new Option('--encoding <encoding>', 'of the body').choices([...ENCODINGS]))
    .addOption(new Option('--hash-encoding <encoding>', 'of the field hash').choices([...HASH_ENCODINGS]))
    .option('--ordered', 'send one notification at a time, in order')
    .option('--rate-limit <number>', 'how many notifications per second at most', parseWholeNumber)
    .option('--max-in-flight <number>', 'how many notifications at the same time at most', parseWholeNumber)
    .option('--header <header>', 'a header of its own, "Name: value"; may be repeated', parseHeader)
    .action(async (options: Options) => {
      const { title, description, endpoint, event, account, encoding, hashEncoding } = options;
      const { ordered, rateLimit, maxInFlight, header } = options;
      const body = {
        title,
        description,
        endpoint,
        event,
        account,
        encoding,
        hash_encoding: hashEncoding,
        ordered,
        rate_limit: rateLimit,
        max_in_flight: maxInFlight,
        headers: header,
      };
      const answer = await withAccess(context, options, {}, (api) =>
        api.post('/v1/webhooks', body, WebhookAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeWebhook(answer.webhook, zone));
    });
