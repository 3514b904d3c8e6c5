/** Whether a label names an encoding of the WHATWG Encoding standard. */
export function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label);
    return true;
  } catch {
    return false;
  }
}
