/** A server-sent event as a test sees it. */
export interface StreamedEvent {
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events whose shape they are about to check.
  data: any;
  /** Milliseconds since the stream was opened. */
  at: number;
}

/** What has come on a stream so far. It ends with `ended`. */
export interface OpenStream {
  status: number;
  headers: Headers;
  events: StreamedEvent[];
  comments: { text: string; at: number }[];
  retry: number | undefined;
  /** Resolves with the time of the end. */
  ended: Promise<number>;
  close(): void;
}

/** Reads a stream of server-sent events (WHATWG HTML, section 9.2), as far as this service uses them. */
export async function openStream(url: string, headers: Record<string, string>): Promise<OpenStream> {
  const controller = new AbortController();
  const began = performance.now();
  const answer = await fetch(url, {
    headers: { Accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  });
  const stream: OpenStream = {
    ...{ status: answer.status, headers: answer.headers, events: [], comments: [], retry: undefined },
    ended: Promise.resolve(0),
    close: () => controller.abort(),
  };
  stream.ended = (async () => {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) receive(stream, block, performance.now() - began);
    }
    return performance.now() - began;
  })();
  // A test that closes the stream does not wait for its end.
  stream.ended.catch(() => {});
  return stream;
}

function receive(stream: OpenStream, block: string, at: number): void {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  const data = fields.get('data');
  if (block.startsWith(':')) stream.comments.push({ text: block, at });
  else if (data !== undefined) stream.events.push({ id: fields.get('id') ?? '', data: JSON.parse(data), at });
  else if (fields.has('retry')) stream.retry = Number(fields.get('retry'));
  else throw new Error(`unknown block: ${block}`);
}
