import { runProcess } from '../src/service.ts';

await runProcess(['importer']);
