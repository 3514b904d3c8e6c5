import * as v from 'valibot';
import type { AddressGuard } from '../../platform/address-guard.ts';
import type { KindName } from '../source-view.ts';
import type { Connector } from './connector.ts';
import { createFolderConnector, NO_FOLDERS } from './folder.ts';
import { createHttpConnector } from './http.ts';
import { createS3Connector } from './s3.ts';
import {
  endpointOf,
  FolderCredentials,
  FolderSettings,
  HttpCredentials,
  HttpSettings,
  S3Credentials,
  S3Settings,
  SftpCredentials,
  SftpSettings,
} from './settings.ts';
import { createSftpConnector } from './sftp.ts';

/** The kinds of sources. */

/** The context that a connector is given. */
export interface SourcePlace {
  guard: AddressGuard;
  /** The folder that contains the customer's folder sources; null: there is none. */
  folder: string | null;
}

/** A source that is stored. */
interface StoredSource<S, C> extends SourcePlace {
  settings: S;
  credentials: C;
  /** The account of the source's files; null: the files name their accounts. */
  accountId: string | null;
  /** A file that was changed within this time may still be written, and is left alone. */
  settleSeconds: number;
}

/** A kind of source, for callers that work with any kind. */
export interface ConnectorKind {
  Settings: v.GenericSchema;
  /** The schema of `credentials`. It receives undefined if the client sends no credentials. */
  Credentials: v.GenericSchema;
  /** Whether a customer may have only one source with the same settings. */
  isExclusive: boolean;
  /** Whether files can be seen while they are written. Only then, the source has `settle_seconds`. */
  showsUnfinished: boolean;
  /** The server that the credentials are sent to. Credentials of one server are never sent to another. */
  server(settings: unknown): string;
  /** Checks whether a source may be created. @returns null, or one sentence that says why not. The sentence repeats no input. */
  check(settings: unknown, place: SourcePlace): Promise<string | null>;
  /** Checks whether single files can be collected again. @returns null, or one sentence that says why not. */
  checkAgain(settings: unknown): string | null;
  /** Connects at the first use. */
  create(source: StoredSource<unknown, unknown>): Connector;
}

/** Makes a kind from its typed parts. Parses stored settings again, because an older version may have stored them. */
function kind<S extends v.GenericSchema, C extends v.GenericSchema>(parts: {
  Settings: S;
  Credentials: C;
  isExclusive?: boolean;
  showsUnfinished?: boolean;
  server?: (settings: v.InferOutput<S>) => string;
  check?: (settings: v.InferOutput<S>, place: SourcePlace) => string | null | Promise<string | null>;
  checkAgain?: (settings: v.InferOutput<S>) => string | null;
  create(source: StoredSource<v.InferOutput<S>, v.InferOutput<C>>): Connector;
}): ConnectorKind {
  const {
    Settings,
    Credentials,
    server = () => '',
    check = () => null,
    checkAgain = () => null,
    create,
  } = parts;
  const { isExclusive = false, showsUnfinished = false } = parts;
  return {
    Settings,
    Credentials,
    isExclusive,
    showsUnfinished,
    server: (settings) => server(v.parse(Settings, settings)),
    check: async (settings, place) => check(v.parse(Settings, settings), place),
    checkAgain: (settings) => checkAgain(v.parse(Settings, settings)),
    create: ({ settings, credentials, ...rest }) =>
      create({
        settings: v.parse(Settings, settings),
        credentials: v.parse(Credentials, credentials ?? undefined),
        ...rest,
      }),
  };
}

export const KINDS = {
  folder: kind({
    Settings: FolderSettings,
    Credentials: FolderCredentials,
    isExclusive: true,
    showsUnfinished: true,
    check: (_, { folder }) => (folder === null ? NO_FOLDERS : null),
    create: createFolderConnector,
  }),
  sftp: kind({
    Settings: SftpSettings,
    Credentials: SftpCredentials,
    showsUnfinished: true,
    server: ({ host, port, host_key }) => `${host}:${port} ${host_key}`,
    check: ({ host }, { guard }) => guard.resolveHost(host),
    create: createSftpConnector,
  }),
  http: kind({
    Settings: HttpSettings,
    Credentials: v.optional(HttpCredentials, {}),
    server: ({ url }) => new URL(url).origin,
    check: ({ url }, { guard }) => guard.checkEndpoint(new URL(url)),
    checkAgain: ({ format, start }) =>
      format === 'json' && start !== 'first_page'
        ? 'The source goes on after the last page of the API, and does not ask for single pages.'
        : null,
    create: createHttpConnector,
  }),
  s3: kind({
    Settings: S3Settings,
    Credentials: S3Credentials,
    server: (settings) => endpointOf(settings).origin,
    check: (settings, { guard }) => guard.checkEndpoint(endpointOf(settings)),
    create: createS3Connector,
  }),
} satisfies Record<KindName, ConnectorKind>;

/** @throws {Error} when there is no such kind in this version. */
export function kindOf(kinds: Readonly<Record<string, ConnectorKind>>, name: string): ConnectorKind {
  const found = kinds[name];
  if (found === undefined) throw new Error(`there is no kind of source named ${name}`);
  return found;
}
