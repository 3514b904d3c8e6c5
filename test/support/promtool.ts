import { findProgram, runProgram } from './installed-program.ts';

/** Runs promtool. @param input for its standard input. */
export const promtool = (args: readonly string[], input?: string) => runProgram('promtool', args, input);

/** Whether promtool is there, or could be installed. */
export const findPromtool = () => findProgram('promtool', 'prometheus', 'The alerts are not checked');
