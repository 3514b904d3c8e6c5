import { useDatabase } from '../../support/database.ts';
import { describeReceiver } from './contract.ts';

const { database, url } = useDatabase({ migrated: false });

/** The URL in the form of Go's driver: `user:password@tcp(host:port)/name`. */
function toDataSourceName(text: string): string {
  const { username, password, host, pathname, searchParams } = new URL(text);
  const socket = searchParams.get('socketPath');
  const address = socket === null ? `tcp(${host})` : `unix(${socket})`;
  return `${decodeURIComponent(username)}:${decodeURIComponent(password)}@${address}${pathname}`;
}

describeReceiver({
  page: 'go.md',
  async install(project) {
    await project.run('go', ['mod', 'init', 'receiver']);
    await project.run('go', ['mod', 'tidy']);
  },
  async start(project, env) {
    await database.query('DROP TABLE IF EXISTS inbox');
    return project.start('go', ['run', '.'], { ...env, DATABASE: toDataSourceName(url) });
  },
  async breakInbox() {
    await database.query('RENAME TABLE inbox TO away');
    return () => database.query('RENAME TABLE away TO inbox');
  },
});
