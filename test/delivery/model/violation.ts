/** A guarantee does not hold. */
class Violation extends Error {
  override name = 'Violation';
}

export function violation(what: string): never {
  throw new Violation(what);
}
