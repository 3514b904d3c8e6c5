import { reservePort } from './reserved-port.ts';

/** Reserves a port between two, says which, and keeps it until it is killed. */
const [from, to] = process.argv.slice(2).map(Number) as [number, number];
console.log(
  await reservePort([[from, to]]).then(
    (port) => port,
    () => 'none',
  ),
);
setInterval(() => {}, 60_000);
