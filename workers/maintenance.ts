import { runProcess } from '../src/service.ts';

await runProcess(['maintenance']);
