/** What the URL of a server may look like. */
interface Form {
  protocols: readonly string[];
  /** Matches the part that names the database. */
  path: RegExp;
  example: string;
  parameters: readonly string[];
}

/** A server's URL in its parts. Either `socketPath` is set, or `host`. */
export interface ServerUrl {
  protocol: string;
  host: string;
  /** null: the server's usual port. */
  port: number | null;
  username: string;
  password: string;
  database: string;
  socketPath: string | null;
  parameter(name: string): string | null;
}

/**
 * Parses the URL of MySQL or Redis.
 * @throws {Error} that says what the URL must be, to be read after the name of a variable. It holds no part of the URL but the
 * name of a parameter.
 */
export function parseServerUrl(text: string, { protocols, path, example, parameters }: Form): ServerUrl {
  const url = URL.parse(text);
  const [username, password, database] = [url?.username, url?.password, url?.pathname.slice(1)].map(decode);
  const fits = url !== null && protocols.includes(url.protocol) && url.hostname !== '';
  if (!fits || !path.test(url.pathname) || username == null || password == null || database == null) {
    throw new Error(`must be a URL such as ${example}`);
  }
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name))
      throw new Error(`must not have the parameter "${name}": it takes ${parameters.join(', ')}`);
    if (url.searchParams.getAll(name).length > 1) throw new Error(`must have ${name} only once`);
  }
  return {
    protocol: url.protocol,
    // Node's sockets take an IPv6 address without its brackets.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? null : Number(url.port),
    username,
    password,
    database,
    socketPath: url.searchParams.get('socketPath'),
    parameter: (name) => url.searchParams.get(name),
  };
}

/** @returns null when the text is not percent-encoded correctly. */
function decode(text = ''): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
