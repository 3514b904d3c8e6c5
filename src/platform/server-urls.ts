import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

/** Parses the URLs of MySQL and of Redis. */

const FORM = {
  protocols: ['mysql:'],
  path: /^\/[^/]+$/,
  example: 'mysql://user:password@host:3306/database',
  usualPort: 3306,
  parameters: ['ssl-mode', 'ssl-ca', 'socketPath'],
};

/** TLS options of mysql2. */
interface Tls {
  rejectUnauthorized: boolean;
  verifyIdentity: boolean;
  ca?: string;
}

/** A server's address. */
export interface Host {
  host: string;
  port: number;
}

/** The address of MySQL from DATABASE_URL. `tls` null: the connection is not encrypted. */
type MysqlUrl = ServerUrl & { tls: Tls | null };

/**
 * Parses `mysql://user:password@host:3306/database`, optionally with `?socketPath=FILE` or `?ssl-mode=MODE&ssl-ca=FILE`. Several
 * hosts, separated by commas, are the members of a cluster. Reads the certificates in `ssl-ca`. The modes have the meaning of
 * MySQL's own `--ssl-mode`: https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode
 * @throws {Error} that says what DATABASE_URL must be, and contains none of its values.
 */
export function parseMysqlUrl(text: string): MysqlUrl {
  const url = parseServerUrl(text, FORM);
  if (url.hosts.length > 1 && url.socketPath !== null)
    throw new Error('must have either several hosts or socketPath, not both');
  return { ...url, tls: readTls(url) };
}

function readTls({ hosts, socketPath, parameter }: ServerUrl): Tls | null {
  const mode = parameter('ssl-mode');
  const caFile = parameter('ssl-ca');
  if (mode === null) {
    if (caFile !== null)
      throw new Error('must have ssl-mode=verify-ca or ssl-mode=verify-identity beside ssl-ca');
    return null;
  }
  if (socketPath !== null) throw new Error('must have either socketPath or ssl-mode, not both');
  const ca = caFile === null ? null : readCertificates(caFile);
  if (mode === 'required') return { rejectUnauthorized: false, verifyIdentity: false };
  if (mode !== 'verify-ca' && mode !== 'verify-identity')
    throw new Error('must have required, verify-ca or verify-identity as its ssl-mode');
  // MySQL's client requires this too, because it trusts no authorities by default.
  if (ca === null)
    throw new Error(
      `must have ssl-ca=FILE beside ssl-mode=${mode}: the authorities that may certify the server, in PEM`,
    );
  // For an address, mysql2 would compare the certificate with the name "localhost".
  if (mode === 'verify-identity' && hosts.some(({ host }) => isIP(host) !== 0))
    throw new Error('must have a host name, not an address, with ssl-mode=verify-identity');
  return { rejectUnauthorized: true, verifyIdentity: mode === 'verify-identity', ca };
}

function readCertificates(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    // Checked here, because Node ignores a text that is not a certificate, and would then call every server's authority unknown.
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    const code =
      error instanceof Error && 'syscall' in error && 'code' in error
        ? String(error.code)
        : 'it is no certificate';
    throw new Error(`must have a readable PEM file of certificates as its ssl-ca (${code})`);
  }
}

/** The allowed form of a server's URL. */
interface Form {
  protocols: readonly string[];
  /** Matches the part that names the database. */
  path: RegExp;
  example: string;
  parameters: readonly string[];
  usualPort: number;
}

/** The parts of a server's URL. With `socketPath`, the hosts have no meaning. */
interface ServerUrl {
  protocol: string;
  hosts: [Host, ...Host[]];
  username: string;
  password: string;
  database: string;
  socketPath: string | null;
  parameter(name: string): string | null;
}

/**
 * Parses the URL of MySQL or Redis.
 * @throws {Error} that says what the URL must be, as a text that follows the name of a variable. It contains no part of the URL,
 * except the name of a parameter.
 */
function parseServerUrl(text: string, { protocols, path, example, parameters, usualPort }: Form): ServerUrl {
  // The URL parser takes only one host, so each host is parsed in a URL of its own.
  const all = /^[^/]+\/\/(?:[^@/?#]*@)?([^/?#]*)/.exec(text)?.[1] ?? '';
  const [first = '', ...others] = all.split(',');
  const url = URL.parse(others.length === 0 ? text : text.replace(all, first));
  const addresses = [url, ...others.map((host) => URL.parse(`${url?.protocol}//${host}`))];
  const [username, password, database] = [url?.username, url?.password, url?.pathname.slice(1)].map(decode);
  const [host, ...more] = addresses.flatMap((it) => (it === null || it.hostname === '' ? [] : [hostOf(it)]));
  const fits = url !== null && protocols.includes(url.protocol) && host !== undefined;
  const isWhole = more.length === others.length && addresses.slice(1).every((it) => it?.pathname === '');
  if (
    !fits ||
    !isWhole ||
    !path.test(url.pathname) ||
    username == null ||
    password == null ||
    database == null
  ) {
    throw new Error(`must be a URL such as ${example}`);
  }
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name))
      throw new Error(`must not have the parameter "${name}": it takes ${parameters.join(', ')}`);
    if (url.searchParams.getAll(name).length > 1) throw new Error(`must have ${name} only once`);
  }
  return {
    protocol: url.protocol,
    hosts: [host, ...more],
    username,
    password,
    database,
    socketPath: url.searchParams.get('socketPath'),
    parameter: (name) => url.searchParams.get(name),
  };

  function hostOf({ hostname, port }: URL): Host {
    // Node's sockets take IPv6 addresses without brackets.
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? usualPort : Number(port) };
  }
}

/** @returns null when the text is not percent-encoded correctly. */
function decode(text = ''): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const REDIS_FORM = {
  protocols: ['redis:', 'rediss:'],
  path: /^(\/\d*)?$/,
  example: 'redis://:password@host:6379/0',
  usualPort: 6379,
  parameters: ['socketPath', 'ssl-ca'],
};

const SENTINEL_FORM = {
  protocols: ['redis+sentinel:', 'rediss+sentinel:'],
  path: REDIS_FORM.path,
  example: 'redis+sentinel://:password@host1:26379,host2:26379,host3:26379/0?name=mymaster',
  usualPort: 26_379,
  parameters: ['name', 'sentinel-password', 'ssl-ca'],
};

const CLUSTER_FORM = {
  protocols: ['redis+cluster:', 'rediss+cluster:'],
  // A cluster has one database.
  path: /^(\/0?)?$/,
  example: 'redis+cluster://:password@host1:6379,host2:6379,host3:6379',
  usualPort: 6379,
  parameters: ['nat-map', 'ssl-ca'],
};

/** The address of Redis from REDIS_URL. */
type RedisUrl = ServerUrl & {
  /** null: the connection is not encrypted. */
  tls: { ca?: string } | null;
  /** The sentinels that know the address of the master; null: the URL itself contains that address. */
  sentinels: { name: string; password: string | null; addresses: Host[] } | null;
  /**
   * For Redis Cluster: the address at which to reach a node, by the address that the node announces. Null: the URL names a single
   * Redis.
   */
  cluster: { natMap: Record<string, Host> } | null;
};

/**
 * Parses the URL of Redis, in one of these forms:
 *
 * - `redis://:password@host:6379/0`, `rediss://…` for TLS, or with `?socketPath=FILE`.
 * - `redis+sentinel://:password@host1:26379,host2:26379/0?name=mymaster`. The hosts are Redis Sentinels. The password is that of
 *   Redis.
 * - `redis+cluster://:password@host1:6379,host2:6379`. The hosts are some nodes of a Redis Cluster.
 *   `nat-map=10.0.0.1:6379=public:7001,…` gives the addresses at which announced addresses are reached.
 *
 * `ssl-ca=FILE` names the authorities that may certify the servers.
 * @throws {Error} that says what REDIS_URL must be, and contains none of its values.
 */
export function parseRedisUrl(text: string): RedisUrl {
  const isSentinel = /^rediss?\+sentinel:/i.test(text);
  const isCluster = /^rediss?\+cluster:/i.test(text);
  const url = parseServerUrl(text, isSentinel ? SENTINEL_FORM : isCluster ? CLUSTER_FORM : REDIS_FORM);
  if (!isSentinel && !isCluster && url.hosts.length > 1)
    throw new Error(`must be a URL such as ${REDIS_FORM.example}`);
  const caFile = url.parameter('ssl-ca');
  const isEncrypted = url.protocol.startsWith('rediss');
  if (caFile !== null && !isEncrypted) throw new Error('must begin with rediss if it has ssl-ca');
  const tls = isEncrypted ? (caFile === null ? {} : { ca: readCertificates(caFile) }) : null;
  if (isCluster) {
    const natMap = parseNatMap(url.parameter('nat-map') ?? '');
    return { ...url, tls, sentinels: null, cluster: { natMap } };
  }
  if (!isSentinel) return { ...url, tls, sentinels: null, cluster: null };
  const name = url.parameter('name');
  if (name === null || name === '')
    throw new Error('must have name=NAME: what the sentinels call the master');
  return {
    ...url,
    tls,
    sentinels: { name, password: url.parameter('sentinel-password'), addresses: url.hosts },
    cluster: null,
  };
}

/** @param text `announced:port=host:port` with commas; empty: none. */
function parseNatMap(text: string): Record<string, Host> {
  const entries = text === '' ? [] : text.split(',');
  return Object.fromEntries(
    entries.map((entry) => {
      const [, announced, host, port] = /^([^=]+:\d+)=\[?([^=]+?)\]?:(\d+)$/.exec(entry) ?? [];
      if (announced === undefined || host === undefined)
        throw new Error('must have announced:port=host:port, with commas between several, as its nat-map');
      return [announced, { host, port: Number(port) }];
    }),
  );
}
