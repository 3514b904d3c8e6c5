import type { AddressGuard } from '../../../src/platform/address-guard.ts';
import type { Resolve } from '../../../src/platform/addresses/resolver.ts';

/** A resolver that answers the n-th question with the n-th list. The last list is repeated. */
export function answering(...answers: string[][]): { resolve: Resolve; asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, callback) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    callback(
      null,
      answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { resolve, asked };
}

export function failing(code: string): Resolve {
  return (_hostname, _options, callback) => callback(Object.assign(new Error(code), { code }), []);
}

export function lookUp(guard: { lookup: AddressGuard['lookup'] }, all: boolean): Promise<unknown> {
  return new Promise((done, fail) => {
    guard.lookup('bank.example', { all }, (error, address, family) => {
      if (error) fail(error);
      else done(all ? address : [address, family]);
    });
  });
}
