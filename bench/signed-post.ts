import { Agent, request } from 'undici';
import { createSigner } from '../src/delivery/posting/signature.ts';
import { VERSION } from '../src/platform/config.ts';

/** The POSTs of the baselines: the same bodies, to the same paths of the same receiver, with the same headers as the service. */
export interface SignedPosts {
  origin: string;
  /** The paths of the receiver, each with the secret it verifies with. */
  secrets: Record<string, string>;
  inFlight: number;
}

export interface SignedPost {
  path: string;
  body: string;
  /** Its number. The ids in its headers contain it and are as long as those of the service. */
  index: number;
}

/** Posts over keep-alive connections, and ignores the answers. */
export function createSignedPoster({ origin, secrets, inFlight }: SignedPosts) {
  const dispatcher = new Agent({ connections: inFlight });
  const signers = new Map(Object.entries(secrets).map(([path, secret]) => [path, createSigner([secret])]));
  return {
    async post({ path, body, index }: SignedPost): Promise<void> {
      const id = `msg_${1_000_000 + index}`;
      const timestamp = Math.floor(Date.now() / 1_000);
      const answer = await request(origin + path, {
        method: 'POST',
        dispatcher,
        body,
        headers: {
          'content-type': 'application/json',
          'user-agent': `Ledgerbell/${VERSION}`,
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': signers.get(path)?.(id, timestamp, body) ?? '',
          'ledgerbell-transaction-id': String(1_000_000 + index),
          'ledgerbell-date-issue': '2026-01-15',
        },
      });
      await answer.body.dump();
    },
    close: () => dispatcher.close(),
  };
}
