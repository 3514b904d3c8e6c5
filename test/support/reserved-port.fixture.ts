import { reservePort } from './reserved-port.ts';

/** Reserves a port in a range, prints it, and keeps it until this process is killed. */
const [from, to] = process.argv.slice(2).map(Number) as [number, number];
console.log(
  await reservePort([[from, to]]).then(
    (port) => port,
    () => 'none',
  ),
);
setInterval(() => {}, 60_000);
