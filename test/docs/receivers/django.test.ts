import { describeReceiver } from './contract.ts';

describeReceiver({
  page: 'django.md',
  encodings: ['json'],
  async install(project) {
    await project.run('python3', ['-m', 'venv', 'venv']);
    await project.run('venv/bin/pip', ['install', '--quiet', 'django', 'standardwebhooks']);
  },
  start: (project, env) => project.start('venv/bin/python', ['receiver.py'], env),
});
