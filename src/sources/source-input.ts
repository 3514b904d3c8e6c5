import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { STATEMENT_FORMATS } from '../../packages/statements/src/formats.ts';
import { Encoding } from '../customers/account-view.ts';
import { hasAccount } from '../customers/accounts.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { invalid } from '../platform/problem.ts';
import { check, documented, Title, withExample } from '../platform/validation.ts';
import { Id, JsonInteger } from '../platform/whole-numbers.ts';
import { KINDS, kindOf, type SourcePlace } from './connectors/kinds.ts';
import { customerFolder } from './connectors/settings.ts';
import { isCron, isTimeZone, parseInterval, type SourceSchedule } from './source-schedule.ts';
import { KIND_NAMES } from './source-view.ts';

/** What a caller may send to create or to change a source. */

/** The settings and credentials of each kind, by the names of their types: `SftpSettings`, `SftpCredentials`. */
export const SCHEMAS_OF_KINDS: Record<string, v.GenericSchema> = Object.fromEntries(
  KIND_NAMES.flatMap((kind) => {
    const name = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const { Settings, Credentials } = KINDS[kind];
    const ofSettings: [string, v.GenericSchema] = [`${name}Settings`, Settings];
    return Credentials.type === 'null' ? [ofSettings] : [ofSettings, [`${name}Credentials`, Credentials]];
  }),
);

const FORMATS = ['auto', ...STATEMENT_FORMATS] as const;

const INTERVAL_RULE =
  'must be an interval from 10 s to 31 days: a whole number and s, m, h or d, such as "15m"';
const CRON_RULE =
  'must be five fields of cron (minute, hour, day, month, day of the week) that come true some day, such as "0 7 * * 1-5"';
const ZONE_RULE = 'must be the name of a time zone, such as "Europe/Istanbul"';

/** When files are collected. */
export const Schedule = v.pipe(
  v.strictObject({
    every: v.optional(
      v.pipe(
        v.string(INTERVAL_RULE),
        v.regex(/^[1-9][0-9]{0,6}[smhd]$/, INTERVAL_RULE),
        v.check((text) => parseInterval(text) !== null, INTERVAL_RULE),
        documented({ examples: ['15m'] }),
      ),
    ),
    cron: v.optional(
      v.pipe(
        v.string(CRON_RULE),
        v.maxLength(100, 'must be at most 100 characters long'),
        v.check(isCron, CRON_RULE),
        documented({ examples: ['0 7 * * 1-5'] }),
      ),
    ),
    time_zone: v.optional(
      v.pipe(
        v.string(ZONE_RULE),
        v.maxLength(64, 'must be at most 64 characters long'),
        v.check(isTimeZone, ZONE_RULE),
        documented({ examples: ['Europe/Istanbul'] }),
      ),
    ),
  }),
  v.check(
    ({ every, cron }) => (every === undefined) !== (cron === undefined),
    'must have either every or cron, and not both',
  ),
  v.check(
    ({ every, time_zone }) => every === undefined || time_zone === undefined,
    'must have a time_zone only with cron',
  ),
  documented({
    oneOf: [{ required: ['every'] }, { required: ['cron'] }],
    dependentRequired: { time_zone: ['cron'] },
    examples: [{ every: '15m' }, { cron: '0 7 * * 1-5', time_zone: 'Europe/Istanbul' }],
  }),
  v.transform(
    ({ every = '', cron, time_zone = 'UTC' }): SourceSchedule =>
      cron === undefined ? { every } : { cron, time_zone },
  ),
);

/** Documents an object whose members depend on the kind. The schema of the kind checks it. */
function documentedKinds(schemas: readonly v.GenericSchema[]): Record<string, unknown> {
  const texts = schemas.map((schema) => {
    const { $schema: _, ...rest } = toJsonSchema(schema, { errorMode: 'ignore', typeMode: 'input' });
    return JSON.stringify(rest);
  });
  const [only = {}, ...others] = [...new Set(texts)].map((text) => JSON.parse(text));
  return others.length === 0 ? only : { anyOf: [only, ...others] };
}

const Settings = v.pipe(
  v.custom<object>(isObject, 'must be an object'),
  v.description('Where the files are. The kind decides which members there are.'),
  documented({
    ...documentedKinds(KIND_NAMES.map((name) => KINDS[name].Settings)),
    examples: [{ path: 'ladin' }],
  }),
);

const Credentials = v.pipe(
  v.custom<object | null>((value) => value === null || isObject(value), 'must be an object or null'),
  v.description('Stored encrypted and never shown again. The kind decides which members there are.'),
  documented({
    ...documentedKinds(KIND_NAMES.map((name) => KINDS[name].Credentials)),
    examples: [{ password: 'correct horse battery staple' }],
  }),
);

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const SETTLE_RULE = 'must be a whole number of seconds from 0 to 3600';

/** `settle_seconds` of a source that is created without. */
const SETTLE_SECONDS = 5;

const fields = {
  title: Title,
  settings: Settings,
  credentials: Credentials,
  schedule: Schedule,
  account_id: withExample(v.nullable(Id), 1),
  format: withExample(v.picklist(FORMATS, `must be one of ${FORMATS.join(', ')}`), 'mt940'),
  profile: v.nullable(
    v.pipe(
      v.string('must be a string or null'),
      v.regex(/^[a-z0-9-]{1,40}$/, 'must be the name of a profile, such as "garanti-bbva"'),
      documented({ examples: ['garanti-bbva'] }),
    ),
  ),
  encoding: Encoding,
  create_accounts: withExample(v.boolean('must be true or false'), true),
  force_account: v.pipe(
    withExample(v.boolean('must be true or false'), false),
    v.description(
      'Whether statements that name another account than `account_id` are stored for it all the same.',
    ),
  ),
  settle_seconds: v.pipe(
    withExample(JsonInteger(0, 3_600, SETTLE_RULE), 60),
    v.description(
      `A file that was changed within this time is left to a later run. Only for the kinds folder and sftp. Default: ${SETTLE_SECONDS}.`,
    ),
  ),
  on_conflict: v.pipe(
    withExample(v.nullable(v.picklist(['hold', 'store'], 'must be "hold", "store" or null')), 'hold'),
    v.description(
      'Decides about a row with the unique_id of a stored movement and another direction, amount or date. null: the setting of its account.',
    ),
  ),
};

/** The body of POST /v1/sources. Settings and credentials are checked by the kind. */
export const NewSource = v.pipe(
  v.strictObject({
    ...fields,
    kind: v.picklist(KIND_NAMES, `must be one of ${KIND_NAMES.join(', ')}`),
    credentials: v.optional(fields.credentials),
    account_id: v.optional(fields.account_id, null),
    format: v.optional(fields.format, 'auto'),
    profile: v.optional(fields.profile, null),
    encoding: v.optional(fields.encoding, null),
    create_accounts: v.optional(fields.create_accounts, false),
    force_account: v.optional(fields.force_account, false),
    settle_seconds: v.optional(fields.settle_seconds),
    on_conflict: v.optional(fields.on_conflict, null),
  }),
  documented({
    examples: [
      {
        title: 'Ladin Bank, gün sonu',
        kind: 'folder',
        settings: { path: 'ladin' },
        schedule: { cron: '0 7 * * 1-5', time_zone: 'Europe/Istanbul' },
      },
      {
        title: 'Ladin Bank, SFTP',
        kind: 'sftp',
        settings: {
          host: 'sftp.ladin.example',
          user: 'kitabevi',
          host_key: 'SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE',
          path: 'statements',
        },
        credentials: { password: 'correct horse battery staple' },
        schedule: { every: '15m' },
      },
      {
        title: 'Ladin Bank, HTTP',
        kind: 'http',
        settings: { url: 'https://api.ladin.example/statements.sta' },
        credentials: { bearer: 'ladin-token-404' },
        schedule: { every: '15m' },
      },
      {
        title: 'Ladin Bank, S3',
        kind: 's3',
        settings: { region: 'eu-central-1', bucket: 'bank-statements', prefix: 'ladin/' },
        credentials: { access_key_id: 'KITABEVI404', secret_access_key: 'ladin-secret-404' },
        schedule: { every: '1h' },
      },
    ],
  }),
);

/** The body of PATCH /v1/sources/:id: any of these fields, without defaults. */
export const SourceChange = v.pipe(
  v.strictObject({
    ...v.partial(v.object(fields)).entries,
    status: v.optional(
      withExample(v.picklist(['active', 'paused'], 'must be "active" or "paused"'), 'paused'),
    ),
  }),
  v.check((change) => Object.keys(change).length > 0, 'must have at least one field to change'),
  documented({ minProperties: 1 }),
);

export type SourceChange = v.InferOutput<typeof SourceChange>;

const FIND_SAME_SETTINGS = `
  SELECT id FROM sources WHERE customer_id = ? AND kind = ? AND status <> 'deleted' AND settings = ? AND id <> ? LIMIT 1`;

export type SourceChecks = ReturnType<typeof createSourceChecks>;

/** Checks of a client's input that need more than a schema. Each throws a Problem 422. */
export function createSourceChecks(
  { config, database }: Pick<Runtime, 'config' | 'database'>,
  guard: AddressGuard,
  caller: Caller,
) {
  const { customerId } = caller;
  const place: SourcePlace = { guard, folder: customerFolder(config.sourcesDir, customerId) };
  return {
    /** Requires that the account is one of the caller's. */
    async requireAccount(accountId: string | null): Promise<void> {
      if (accountId !== null && !(await hasAccount(database, caller, accountId)))
        throw invalid([{ path: 'account_id', message: 'is not one of your accounts' }]);
    },
    /** @param source.id '0' for a new source. @returns the settings as they are stored. */
    async requireSettings({
      id,
      kind: name,
      settings: sent,
    }: {
      id: string;
      kind: string;
      settings: object;
    }): Promise<string> {
      const kind = kindOf(KINDS, name);
      const { settings } = check(v.object({ settings: kind.Settings }), { settings: sent });
      const refusal = await kind.check(settings, place);
      if (refusal !== null)
        throw invalid([{ path: 'settings', message: `are not allowed: ${refusal.replace(/\.$/, '')}` }]);
      const stored = JSON.stringify(settings);
      if (kind.isExclusive) {
        const [other] = await database.query<{ id: string }[]>(FIND_SAME_SETTINGS, [
          customerId,
          name,
          stored,
          id,
        ]);
        if (other !== undefined)
          throw invalid([{ path: 'settings', message: `are those of source ${other.id} already` }]);
      }
      return stored;
    },
    /** @returns `settle_seconds` as it is stored; null: the kind has none. */
    requireSettling(name: string, sent: number | undefined): number | null {
      if (kindOf(KINDS, name).showsUnfinished) return sent ?? SETTLE_SECONDS;
      if (sent === undefined) return null;
      throw invalid([
        {
          path: 'settle_seconds',
          message: `must be left out: a source of kind ${name} offers only files that are complete`,
        },
      ]);
    },
    /** Credentials for one server must not be sent to another server, which may be the caller's own. `before` and `after` are stored settings. */
    requireSameServer(name: string, before: string, after: string): void {
      const { server } = kindOf(KINDS, name);
      if (server(JSON.parse(before)) !== server(JSON.parse(after)))
        throw invalid([
          {
            path: 'credentials',
            message:
              'must be sent again, because the settings name another server than the stored ones were given for',
          },
        ]);
    },
    /** @returns the credentials as they are sealed; null: none. */
    requireCredentials(kind: string, sent: object | null | undefined): string | null {
      const { Credentials } = kindOf(KINDS, kind);
      const { credentials } = check(v.object({ credentials: Credentials }), {
        credentials: sent ?? undefined,
      });
      const isEmpty = Object.keys(credentials ?? {}).length === 0;
      return isEmpty ? null : JSON.stringify(credentials);
    },
  };
}
