import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { documentOf, reasonOf, runHere } from './command.ts';

/** Completes the last of the words with bash, by the script that the command prints. */
async function complete(...words: string[]): Promise<string[]> {
  const { script } = documentOf(await runHere(['completion', 'bash', '--json']));
  const call = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ledgerbell; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const offered = execFileSync('bash', ['-c', call, 'bash', 'ledgerbell', ...words], { encoding: 'utf8' });
  return offered.split('\n').filter((word) => word !== '');
}

describe('ledgerbell completion', () => {
  it('offers commands, their commands, options and the values of options', async () => {
    expect(await complete('web')).toEqual(['webhooks']);
    expect(await complete('webhooks', 'p')).toEqual(['pause']);
    expect(await complete('--json', 'webhooks', 'list', '--l')).toEqual(['--limit']);
    expect(await complete('deliveries', 'list', '--status', '')).toEqual(['pending', 'delivered', 'failed']);
    expect(await complete('completion', '--')).toEqual(['--json', '--help']);
  });

  it('leaves the values of other options, and file names, to the shell', async () => {
    expect(await complete('webhooks', 'list', '--limit', '')).toEqual([]);
    expect(await complete('import', 'mov')).toEqual([]);
  });

  it('supports bash, zsh and fish', async () => {
    const { stdout: zsh } = await runHere(['completion', 'zsh']);
    expect(zsh).toMatch(/^#compdef ledgerbell\n/);
    const { stdout: fish } = await runHere(['completion', 'fish']);
    expect(fish).toContain(
      "-n '__fish_seen_subcommand_from webhooks; and __fish_seen_subcommand_from pause'",
    );
    expect(reasonOf(await runHere(['completion', 'tcsh']))).toContain('Allowed choices are bash, zsh, fish.');
  });
});
