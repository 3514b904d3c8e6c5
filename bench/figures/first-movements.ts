import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { startProcess } from '../processes.ts';
import { subscribeAll } from '../steady-load.ts';
import { measureService } from './single-movements.ts';

const SIZES = {
  smoke: { first: 100, between: 0, customers: 3 },
  normal: { first: 2_000, between: 20_000, customers: 20 },
};

/**
 * Single movements of 20 customers, 64 requests at a time: the first 2,000 after a start, from the moment at which `/readyz` says yes.
 * Baseline: as many, when 22,000 have been sent.
 */
export const firstMovements: Figure = {
  about: 'single movements/s of the first 2,000 after a start, against those of a warm process',
  async prepare(scale: Scale, start) {
    const { first, between, customers } = sized(scale, SIZES);
    const client = startProcess('./single-client.js');
    let server = '';
    return {
      get server() {
        return server;
      },
      async round(): Promise<Round> {
        const installation = await start({ rateLimit: 0 });
        try {
          server = installation.server;
          const subscribers = await subscribeAll(installation, customers, '/first');
          const rate = async (movements: number) =>
            movements / (await measureService({ installation, client }, { subscribers, movements })).seconds;
          const cold = await rate(first);
          if (between > 0) await rate(between);
          const later = await rate(first);
          return [
            {
              name: `single movements, the first ${first.toLocaleString('en')} after a start`,
              unit: 'movements/s to the subscriber',
              value: cold,
              baseline: { name: `after ${between.toLocaleString('en')} more`, value: later },
              wanted: { atLeast: 0.8 },
            },
          ];
        } finally {
          await installation.end();
        }
      },
      end: () => client.end(),
    };
  },
};
