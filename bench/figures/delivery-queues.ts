import { type Figure, type Scale, sized } from '../figure.ts';
import { deliverAll, startSite } from './scale-out.ts';

/** Values of DELIVERY_QUEUES. */
const QUEUES = [1, 4] as const;

/**
 * Deliveries per second of many busy webhooks with four delivery queues, beside one queue. Two delivery processes and one Redis each.
 */
export const deliveryQueues: Figure = {
  about: 'deliveries/s of 1,000 busy webhooks with four delivery queues, against one queue',
  async prepare(scale: Scale) {
    const webhooks = sized(scale, { smoke: 20, normal: 1_000 });
    const pending = sized(scale, { smoke: 10, normal: 40 });
    const [one, four] = await Promise.all(
      QUEUES.map((deliveryQueues) => startSite({ deliveries: 2, deliveryQueues }, webhooks)),
    );
    if (one === undefined || four === undefined) throw new Error('no installations');
    return {
      server: one.installation.server,
      async round() {
        const baseline = { name: 'one queue', value: await deliverAll(one, pending) };
        const value = await deliverAll(four, pending);
        return [{ name: 'deliveries, four queues', unit: 'deliveries/s', value, baseline }];
      },
      async end() {
        for (const { installation } of [one, four]) await installation.end();
      },
    };
  },
};
