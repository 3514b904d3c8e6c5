/** Builds the notification of an operational event. */

/** An operational event as a notification shows it. */
export interface NotifiedEvent {
  type: string;
  /** RFC 3339, in UTC. */
  timestamp: string;
  /** JSON. */
  data: string;
}

/** The payload that Standard Webhooks recommends. The same event gives the same bytes on every attempt. */
export const buildEventBody = ({ type, timestamp, data }: NotifiedEvent): string =>
  `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${data}}`;
