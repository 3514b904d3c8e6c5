import { describe, expect, it } from 'vitest';
import {
  countTroubles,
  headlineOf,
  headlineSeverityOf,
  problemsOf,
  sortTroubles,
  troubleOf,
} from '../../src/verdict/trouble.ts';

const page = { text: 'Page', href: '/ops' };

describe('the answer to "is anything wrong?"', () => {
  it('is that all is well, without any trouble', () => {
    expect(headlineOf([])).toBe('All is well.');
    expect(problemsOf([])).toEqual([]);
  });

  it('is that the service is well, if only endpoints are in trouble, which are counted', () => {
    const troubles = [
      troubleOf('webhook_failing', { page, sentence: 'Acme: webhook 1 has been failing.' }),
      troubleOf('webhook_failing', { page, count: 3 }),
      troubleOf('conflicts_open', { page, count: 2 }),
    ];
    expect(headlineOf(troubles)).toBe(
      'The service is well; 4 endpoints are failing, 2 conflicts wait for a decision.',
    );
    expect(problemsOf(troubles)).toEqual([]);
  });

  it('needs attention at most, when it is that the service is well, and else is as severe as the first trouble', () => {
    const endpoint = troubleOf('webhook_failing', { page });
    expect(headlineSeverityOf([])).toBe('well');
    expect(headlineSeverityOf([endpoint])).toBe('attention');
    expect(headlineSeverityOf([endpoint, troubleOf('source_failing', { page })])).toBe('failing');
    expect(headlineSeverityOf([troubleOf('ops_plain_text', { page })])).toBe('warning');
  });

  it('names what is wrong with the installation, and counts the endpoints beside that', () => {
    const troubles = [
      troubleOf('mysql', { page, sentence: 'MySQL cannot be reached.' }),
      troubleOf('source_failing', { page, sentence: 'Acme: source 1 has failed.' }),
      troubleOf('source_failing', { page, count: 2 }),
      troubleOf('webhook_flapping', { page }),
    ];
    expect(problemsOf(troubles)).toEqual(['MySQL cannot be reached.', '3 sources are failing.']);
    expect(headlineOf(troubles)).toBe(
      'Not well: MySQL cannot be reached. 3 sources are failing. Beside that, 1 endpoint is flapping.',
    );
  });

  it('is that the service is well, if there are only warnings, which are told', () => {
    const warning = troubleOf('ops_plain_text', { page });
    expect(problemsOf([warning])).toEqual([]);
    expect(headlineOf([warning])).toBe(
      "The service is well; operators' tokens and passwords cross the network in plain text.",
    );
    const behind = troubleOf('webhook_behind', { page });
    expect(sortTroubles([warning, behind])).toEqual([behind, warning]);
  });

  it('counts a webhook that waits for a delivery process as a trouble of the installation', () => {
    const behind = troubleOf('webhook_behind', { page, scope: 'installation' });
    expect(problemsOf([behind])).toEqual(['1 webhook is behind.']);
    expect(problemsOf([{ ...behind, scope: 'endpoint' }])).toEqual([]);
  });

  it('has the worst first, and counts by kind and scope', () => {
    const troubles = sortTroubles([
      troubleOf('webhook_behind', { page }),
      troubleOf('webhook_failing', { page, count: 2 }),
      troubleOf('redis', { page, sentence: 'Redis cannot be reached.' }),
      troubleOf('webhook_failing', { page }),
    ]);
    expect(troubles.map(({ kind }) => kind)).toEqual([
      'redis',
      'webhook_failing',
      'webhook_failing',
      'webhook_behind',
    ]);
    expect(countTroubles(troubles)).toEqual([
      { kind: 'redis', scope: 'installation', count: 1 },
      { kind: 'webhook_failing', scope: 'endpoint', count: 3 },
      { kind: 'webhook_behind', scope: 'endpoint', count: 1 },
    ]);
  });
});
