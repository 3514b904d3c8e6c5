import { describe, expect, it } from 'vitest';
import { chooseType } from '../../src/http/accept.ts';

const PAGE = 'application/json';
const STREAM = 'text/event-stream';

describe('the header Accept', () => {
  it.each([
    [undefined, PAGE],
    ['', PAGE],
    ['*/*', PAGE],
    ['application/json', PAGE],
    ['text/event-stream', STREAM],
    ['Text/Event-Stream', STREAM],
    ['text/event-stream; charset=utf-8', STREAM],
    ['text/event-stream;q=0', PAGE],
    ['text/event-stream;Q=0.000', PAGE],
    ['text/event-stream;q=0, */*', PAGE],
    ['application/json;q=0, */*', STREAM],
    ['application/json;q=0.5, text/event-stream', STREAM],
    ['application/json, text/event-stream;q=0.9', PAGE],
    ['application/json, text/event-stream', STREAM],
    ['text/event-stream, application/json', STREAM],
    ['text/event-stream, */*', STREAM],
    ['text/event-stream;q=0.5, */*;q=0.8', PAGE],
    ['text/*', STREAM],
    ['text/*;q=0.3, application/*;q=0.2', STREAM],
    ['text/*, text/event-stream;q=0, application/json;q=0.1', PAGE],
    ['text/html', PAGE],
    ['text/event-stream2', PAGE],
    ['application/x; note="a, text/event-stream", application/json', PAGE],
    [',,;;q=,"', PAGE],
  ])('%j asks for %s', (accept, type) => {
    expect(chooseType(accept, [PAGE, STREAM])).toBe(type);
  });

  // At the square of its length, each would take hours.
  it.each([',', ';', '"', '\\', ' ', '=', 'a;', ' ,', 'a;b="" ', 'a;q=" ', 'a/b,', 'a;b= ', '";\\'])(
    'is read in linear time if it repeats %j',
    (part) => {
      expect(chooseType(part.repeat(1_000_000), [PAGE, STREAM])).toBe(PAGE);
      expect(chooseType(`a;${part.repeat(1_000_000)}`, [PAGE, STREAM])).toBe(PAGE);
    },
  );
});
