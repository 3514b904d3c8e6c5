import { cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describeReceiver } from './contract.ts';

/** What a Laravel app has besides the files of the page. */
const APP = fileURLToPath(new URL('laravel/', import.meta.url));

describeReceiver('laravel', {
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

/** `artisan serve` starts the same server. */
const START = 'php artisan ledgerbell:inbox & exec php -S 127.0.0.1:$PORT -t public public/index.php';
