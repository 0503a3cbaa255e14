/** The program of the machine: it does what the test at the other end of the wire says, a line of JSON each. */
import { createInterface } from 'node:readline';
import { reasonOf } from '@device-core/plugin-api';
import { COMMANDS } from './commands.ts';

interface Asked {
  readonly id: number;
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, command, params } = JSON.parse(line) as Asked;
  const say = (answer: object) => process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`);
  const run = COMMANDS[command];
  if (!run) return say({ error: `there is no command ${command}` });
  run(params).then(
    (result) => say({ result: result ?? null }),
    (error: unknown) => say({ error: reasonOf(error) }),
  );
});
process.stdout.write('READY\n');
