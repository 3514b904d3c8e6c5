import {
  type Answer,
  createReceiver,
  type LogEntry,
  type Notification,
  type ReceiverOptions,
} from '../../packages/sdk/src/receiver/index.ts';
import { buildBody } from '../../src/delivery/posting/body.ts';
import { createSigner } from '../../src/delivery/posting/signature.ts';
import { batchBody } from './batch-vectors.ts';
import { API_SECRET, MOVEMENT as CONTENT } from './vector-movements.ts';
import { createVectors, type Vector } from './vectors.ts';

export const FILES = createVectors();

export const find = (file: string, name: string): Vector => {
  const vector = FILES[file]?.find((it) => it.name === name);
  if (vector === undefined) throw new Error(`There is no vector "${name}".`);
  return vector;
};
export const MOVEMENT = find('events', 'a movement');
export const TAMPERED = find('signatures-json', 'a changed amount');

export const requestOf = ({ headers, body }: Vector) => ({ headers, body: new TextEncoder().encode(body) });

/** A receiver of the vectors, with what it has logged and the ids that its handlers got. */
export function createTestReceiver(options: Partial<ReceiverOptions> = {}) {
  const logged: LogEntry[] = [];
  const handled: string[] = [];
  const note = ({ id }: Notification) => void handled.push(id);
  const receiver = createReceiver({
    secrets: MOVEMENT.secrets,
    now: () => MOVEMENT.now,
    ...(options.onBatch === undefined ? { onMovement: note } : {}),
    log: (entry) => logged.push(entry),
    ...options,
  });
  return { receiver, logged, handled, note };
}

export const idOf = (number: number) => `msg_17-${number}`;
export const idsOf = (...numbers: number[]) => numbers.map(idOf);

const sign = createSigner(MOVEMENT.secrets);

export const signed = (id: string, body: string) => ({
  headers: {
    'webhook-id': id,
    'webhook-timestamp': String(MOVEMENT.now),
    'webhook-signature': sign(id, MOVEMENT.now, body),
  },
  body,
});

let lastBatch = 0;

/** A signed batch of movements. Each has another id. */
export function batchOf(numbers: readonly number[], { description = 'FATURA' } = {}) {
  const id = `batch_${++lastBatch}`;
  const format = { encoding: 'json', hashEncoding: 'hex' } as const;
  const body = buildBody({ ...CONTENT, description }, format, API_SECRET);
  return signed(
    id,
    batchBody(
      id,
      numbers.map((number) => ({ id: idOf(number), body })),
    ),
  );
}

/** The ids that an answer names. */
export const failedIn = ({ body }: Answer): string[] => JSON.parse(body ?? '{}').failed;
