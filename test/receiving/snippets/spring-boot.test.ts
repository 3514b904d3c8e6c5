import { describeReceiver } from './contract.ts';

describeReceiver('spring boot', {
  page: 'spring-boot.md',
  install: (project) => project.run('mvn', ['--batch-mode', '--quiet', 'dependency:resolve']),
  start: (project, env) => project.start('mvn', ['--batch-mode', '--quiet', 'spring-boot:run'], env),
});
