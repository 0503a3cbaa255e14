/** Child of the crash test: writes as fast as it can and says what was acknowledged. Arguments: root, first number. */
import { config } from '@device-core/plugin-api/services/config';
import { start } from './start.ts';

const [root, first] = process.argv.slice(2) as [string, string];
const { host } = await start({ root });
const service = host.service(config);
const write = (text: string) => new Promise<void>((done) => process.stdout.write(text, () => done()));
await write('ready\n');
for (let number = Number(first); ; number++) {
  const scope = number % 3 === 0 ? {} : { app: 'com.example.agenda' };
  const key = `group${number % 4}.k${number % 7}`;
  await service.set(scope, key, { number, padding: 'x'.repeat(number % 2_000) }, { by: `n${number}` });
  await write(`${JSON.stringify({ app: scope.app ?? null, key, number })}\n`);
}
