import { cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describeReceiver } from './contract.ts';

/** The files of a Laravel app besides those of the page. */
const APP = fileURLToPath(new URL('laravel/', import.meta.url));

/** `artisan serve` starts the same server. */
const START = 'php artisan ledgerbell:inbox & exec php -S 127.0.0.1:$PORT -t public public/index.php';

// The worker creates the table.
const START_PLAIN =
  'php worker.php & until [ -s inbox.sqlite ]; do :; done; exec php -S 127.0.0.1:$PORT receiver.php';

describeReceiver({
  page: 'laravel.md',
  path: '/api/webhooks',
  async install(project) {
    await project.run('php', ['-r', "require '/usr/share/php/Illuminate/autoload.php';"]);
  },
  async start(project, env) {
    await cp(APP, project.directory, { recursive: true });
    await project.write('bootstrap/cache/.gitignore', '');
    await project.write('inbox.sqlite', '');
    await project.run('php', ['artisan', 'migrate', '--force'], env);
    return project.start('sh', ['-c', START], env);
  },
});

describeReceiver({
  page: 'form-encoding.md',
  encodings: ['form'],
  install: (project) => project.run('php', ['-r', "new PDO('sqlite::memory:');"]),
  start: (project, env) => project.start('sh', ['-c', START_PLAIN], env),
});
