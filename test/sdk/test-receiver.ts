import {
  createReceiver,
  type LogEntry,
  type Notification,
  type ReceiverOptions,
} from '../../packages/sdk/src/receiver/index.ts';
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
