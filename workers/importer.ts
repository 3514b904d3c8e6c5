import { runProcess } from '../src/process.ts';

await runProcess(['importer']);
