import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Client, ConnectConfig, ServerHostKeyAlgorithm, SFTPWrapper } from 'ssh2';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { connectTimeoutError, type TimeLimits, toSourceError } from './connection-errors.ts';
import { SourceError } from './connector.ts';
import { hasFewRounds, ROUNDS_RULE, type SftpCredentials, type SftpSettings } from './settings.ts';

/** Connects to an SFTP server whose host key is known, and signs in. */

export interface SftpAccess {
  settings: SftpSettings;
  credentials: SftpCredentials;
  guard: AddressGuard;
  limits: TimeLimits;
}

interface SftpConnection {
  client: Client;
  sftp: SFTPWrapper;
  socket: Socket;
}

/** Kinds of host keys, the best first. A server usually has a key of each kind, and shows the first kind that the client requests. */
const HOST_KEY_KINDS: ServerHostKeyAlgorithm[][] = [
  ['ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
  ['rsa-sha2-512', 'rsa-sha2-256'],
];

/**
 * Connects and signs in. If a server shows a host key other than the pinned key, it is asked for its other kinds of keys, because banks
 * often publish only one fingerprint. No credentials are sent to a server that does not have the pinned key.
 * @throws {SourceError} when this fails. If the server does not have the pinned key, the message names the fingerprints that it showed.
 */
export async function connectSftp(access: SftpAccess, signal: AbortSignal): Promise<SftpConnection> {
  const seen: HostKey[] = [];
  for (;;) {
    const kinds = hostKeyKinds(access.settings).filter((names) => !seen.some((key) => isOfKind(key, names)));
    if (kinds.length === 0) throw otherHostKey(access.settings, seen);
    try {
      return await connectOnce(access, kinds.flat(), signal);
    } catch (error) {
      if (error instanceof OtherHostKeyError) seen.push(error.key);
      else if (seen.length > 0 && isNoCommonKey(error)) throw otherHostKey(access.settings, seen);
      else if (isNoCommonKey(error)) throw noCommonKey(access.settings);
      else throw error;
    }
  }
}

/** With `ssh_rsa`, signatures with SHA-1 are also accepted. Old servers have them, and RFC 8332 replaces them. */
const hostKeyKinds = ({ ssh_rsa = false }: SftpSettings): ServerHostKeyAlgorithm[][] =>
  ssh_rsa ? [...HOST_KEY_KINDS, ['ssh-rsa']] : HOST_KEY_KINDS;

/** An RSA key has the type "ssh-rsa", however it signs. */
const isOfKind = ({ type }: HostKey, names: readonly string[]): boolean =>
  names.includes(type) || (type === 'ssh-rsa' && names.includes('rsa-sha2-256'));

interface HostKey {
  /** Such as "ssh-ed25519". */
  type: string;
  fingerprint: string;
}

class OtherHostKeyError extends Error {
  readonly key: HostKey;
  constructor(key: HostKey) {
    super('another host key');
    this.key = key;
  }
}

function otherHostKey({ host, port, host_key }: SftpSettings, seen: readonly HostKey[]): SourceError {
  const shown = seen.map(({ type, fingerprint }) => `${fingerprint} (${type})`).join(', ');
  return new SourceError(
    `${host}:${port} shows the host key ${shown}, and host_key in the settings is ${host_key}. Ask the server's operator which key is right, because somebody may be intercepting the connection. No credentials were sent.`,
  );
}

const noCommonKey = ({ host, port, ssh_rsa = false }: SftpSettings) =>
  new SourceError(
    `${host}:${port} has no host key that this service accepts.${ssh_rsa ? '' : ' If it can only sign with SHA-1, set "ssh_rsa" to true.'}`,
  );

const isNoCommonKey = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('no matching host key format');

/** As OpenSSH shows it: the SHA-256 of the key in base64 without padding. */
function describeKey(key: Buffer): HostKey {
  const type = key.toString('latin1', 4, 4 + key.readUInt32BE(0));
  const hash = createHash('sha256')
    .update(key)
    .digest('base64')
    .replace(/(?<!=)=+$/, '');
  return { type, fingerprint: `SHA256:${hash}` };
}

async function connectOnce(
  { settings, credentials, guard, limits }: SftpAccess,
  serverHostKey: ServerHostKeyAlgorithm[],
  signal: AbortSignal,
): Promise<SftpConnection> {
  signal.throwIfAborted();
  const peer = `${settings.host}:${settings.port}`;
  const refusal = guard.checkHost(settings.host);
  if (refusal !== null) throw new SourceError(refusal);
  if (!hasFewRounds(credentials.private_key ?? '')) throw new SourceError(`private_key ${ROUNDS_RULE}.`);

  // ssh2 takes a while to load, and most processes never need it.
  const { Client: SshClient } = await import('ssh2');
  const client = new SshClient();
  const socket = connect({ host: settings.host, port: settings.port, lookup: guard.lookup, noDelay: true });
  let otherKey: HostKey | undefined;

  const config: ConnectConfig = {
    sock: socket,
    username: settings.user,
    ...(credentials.password !== undefined && { password: credentials.password, tryKeyboard: true }),
    ...(credentials.private_key !== undefined && { privateKey: credentials.private_key }),
    ...(credentials.passphrase !== undefined && { passphrase: credentials.passphrase }),
    readyTimeout: 0, // The timer below covers everything from the look-up to the open channel.
    // No compression, because a few bytes from a server could unpack to any number.
    algorithms: { serverHostKey, compress: ['none'] },
    hostVerifier: (key: Buffer) => {
      const shown = describeKey(key);
      if (shown.fingerprint === settings.host_key) return true;
      otherKey = shown;
      return false;
    },
  };

  return new Promise<SftpConnection>((resolve, reject) => {
    const timer = setTimeout(() => fail(connectTimeoutError(peer, limits)), limits.connect);
    const onAbort = () => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      finish();
      socket.destroy();
      reject(error);
    };

    client.on('error', (error) => {
      fail(otherKey === undefined ? explain(error, peer, limits) : new OtherHostKeyError(otherKey));
    });
    client.on('close', () => fail(new SourceError(`${peer} closed the connection during sign-in.`)));
    // Many servers ask for the password as a "prompt" (RFC 4256).
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, answer) =>
      answer(prompts.map(() => credentials.password ?? '')),
    );
    client.on('ready', () => {
      client.sftp((error, sftp) => {
        finish();
        if (error) {
          fail(new SourceError(`${peer} accepts the credentials, but offers this user no SFTP.`));
        } else {
          resolve({ client, sftp, socket });
        }
      });
    });
    try {
      client.connect(config);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      fail(new SourceError(`private_key cannot be read with this passphrase, or is damaged (${reason}).`));
    }
  });
}

function explain(error: Error & { level?: string }, peer: string, limits: TimeLimits): unknown {
  if (error.level === 'client-authentication') {
    return new SourceError(
      `${peer} refuses the credentials. Check "user", and "password" or "private_key", and whether the server knows the public key.`,
    );
  }
  if (isNoCommonKey(error)) return error;
  if (error.level === 'handshake' || error.level === 'protocol') {
    return new SourceError(`${peer} does not speak SSH as expected: ${error.message}. Check host and port.`);
  }
  return toSourceError(error, peer, limits);
}
