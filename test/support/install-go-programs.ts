import { findGoProgram, GO_PROGRAMS } from './go-program.ts';

/** Compiles the Go programs that tests run. Beside the tests, that would take the processor from them for minutes. */

for (const name of GO_PROGRAMS) await findGoProgram(name, `${name} is not installed`);
