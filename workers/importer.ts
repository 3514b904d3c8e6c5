import { runProcess } from '../src/run.ts';

await runProcess({ roles: ['importer'] });
