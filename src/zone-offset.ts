/** A fixed distance from UTC, as TIME_ZONE_OFFSET sets it. */
export interface ZoneOffset {
  /** As written after a time: "+03", "-03:30". */
  text: string;
  minutes: number;
}

const SHAPE = /^([+-])(\d{2})(?::?(\d{2}))?$/;

/**
 * Parses "+03", "+03:00", "+0530" or "Z".
 * @throws {Error} whose message says what is allowed.
 */
export function parseOffset(text: string): ZoneOffset {
  if (text === 'Z') return { text: '+00', minutes: 0 };
  const [, sign, hours = '', minutes = '00'] = SHAPE.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  // Offsets in use range from -12:00 to +14:00 (IANA tz database).
  if (sign === undefined || Number(minutes) > 59 || total > 14 * 60) {
    throw new Error('must be an offset from UTC such as +03 or -03:30, at most 14 hours');
  }
  return {
    text: minutes === '00' ? `${sign}${hours}` : `${sign}${hours}:${minutes}`,
    minutes: sign === '-' ? -total : total,
  };
}
