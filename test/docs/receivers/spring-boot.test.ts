import { describeReceiver } from './contract.ts';

describeReceiver({
  page: 'spring-boot.md',
  encodings: ['json'],
  install: (project) => project.run('mvn', ['--batch-mode', '--quiet', 'dependency:resolve']),
  start: (project, env) => project.start('mvn', ['--batch-mode', '--quiet', 'spring-boot:run'], env),
});
