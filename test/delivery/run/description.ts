import type { RunCommand, RunEvent } from '../../../src/delivery/run/types.ts';

/** An event or a command in a few words, for people to read. */
export function describeStep(it: RunEvent | RunCommand): string {
  switch (it.type) {
    case 'send':
      return `send ${it.delivery.subjectId}`;
    case 'answered':
      return `answered ${it.delivery.subjectId} ${it.answer.status ?? it.answer.error}`;
    case 'log read':
    case 'retries read': {
      const { deliveries, type, ...rest } = it;
      return `${type} [${deliveries.map(({ subjectId }) => subjectId)}] ${JSON.stringify(rest)}`;
    }
    case 'record': {
      const { results, cursor, release, disable } = it.record;
      const ends = results.map(({ subjectId, status, number }) => `${subjectId} ${status} #${number}`);
      return `record [${ends.join(', ')}] ${JSON.stringify({ ...cursor, release, disable })}`;
    }
    default: {
      const { type, ...rest } = it;
      return Object.keys(rest).length === 0 ? type : `${type} ${JSON.stringify(rest)}`;
    }
  }
}
