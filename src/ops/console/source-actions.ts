import type { Confirmation } from './confirm-page.tsx';
import type { ConsoleSource } from './source-rows.ts';

/** What can be done with a source from the console. */
export const SOURCE_ACTIONS = ['run', 'pause', 'enable'] as const;
export type SourceAction = (typeof SOURCE_ACTIONS)[number];

/** What each button says. */
export const SOURCE_LABELS: Readonly<Record<SourceAction, string>> = {
  run: 'Run now',
  pause: 'Pause',
  enable: 'Enable',
};

/** The actions that make sense for a source in its state, the most likely one first. */
export function sourceActionsFor({ status }: ConsoleSource): SourceAction[] {
  switch (status) {
    case 'deleted':
      return [];
    case 'paused':
      return ['enable', 'run'];
    case 'active':
      return ['run', 'pause'];
  }
}

/** Asks whether an action is meant, and says what it does. */
export function confirmSourceAction(action: SourceAction, it: ConsoleSource): Omit<Confirmation, 'back'> {
  const name = `source ${it.id} “${it.title}” of ${it.customer}`;
  switch (action) {
    case 'run':
      return {
        question: `Run ${name} now?`,
        consequences: [
          'It runs immediately, whatever its schedule, and its new files are imported.',
          'If a run is in progress, another one follows it. No file is imported twice.',
          ...(it.status === 'paused' ? ['It stays paused: nothing runs after this.'] : []),
        ],
        button: 'Run the source',
      };
    case 'pause':
      return {
        question: `Pause ${name}?`,
        consequences: [
          'Nothing is collected from it until it is enabled. A run in progress ends.',
          'Files stay where they are. What was collected before is still imported.',
        ],
        button: 'Pause the source',
        dangerous: true,
      };
    case 'enable':
      return {
        question: `Enable ${name}?`,
        consequences: [
          'It runs by its schedule again. With an interval, it runs immediately.',
          'Its count of failed runs begins at 0.',
        ],
        button: 'Enable the source',
      };
  }
}

/** What has been done, as it is said on the page of the source afterwards. */
export const SOURCE_DONE: Readonly<Record<string, string>> = {
  run: 'A run was asked for. Reload this page to see how it ends.',
  pause: 'The source is paused. Nothing more is collected.',
  enable: 'The source is enabled.',
};
