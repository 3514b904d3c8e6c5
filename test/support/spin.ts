import { WebSocket } from 'undici';
import { until } from './until.ts';

/**
 * Keeps the event loop of a Node process busy for ever, as a pattern without an end would. Node opens its inspector on SIGUSR1, on port
 * 9229: only one process of the machine can spin at a time.
 * @param said reads what the process has written to stderr, among which is the URL of its inspector.
 */
export async function spin(pid: number, said: () => string): Promise<void> {
  const before = said().length;
  process.kill(pid, 'SIGUSR1');
  let url = '';
  await until('the inspector listens', () => {
    url = /Debugger listening on (ws:\S+)/.exec(said().slice(before))?.[1] ?? '';
    return url !== '';
  });
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  // The process is killed while it is connected.
  socket.addEventListener('error', () => {});
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: 'for (;;);' } }));
}
