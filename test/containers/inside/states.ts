/** A Core that starts a guest for each line of /lab/orders, and tells what becomes of it in /lab/events: run as the Core's own unit in the box of the warden. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { AppSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { eventually, pace } from '../../fixtures/eventually.ts';
import { openUnits, shellSpec } from './units.ts';

const tell = (event: string, more: object = {}) =>
  appendFileSync('/lab/events', `${JSON.stringify({ event, at: Date.now(), ...more })}\n`);
const ordered = () => (existsSync('/lab/orders') ? readFileSync('/lab/orders', 'utf8').split('\n').slice(0, -1) : []);

async function run(supervisor: AppSupervisor, name: string): Promise<void> {
  const spec = await shellSpec(name, 'exec sleep 1000');
  const { run, leader } = await supervisor.start(spec, { token: 'token-of-the-guest-0123456789' });
  const ready = await supervisor.ready(run);
  tell('started', { run, pid: leader.pid, program: ready.pid });
  tell('ended', { run, end: await supervisor.ended(run) });
}

const target = await openUnits();
for (const { run: left } of await target.supervisor.former()) tell('former', { left });
tell('up');
for (let done = 0; ; done++) {
  await eventually(() => ordered().length > done, 'an order', { ms: 100_000, every: 20 });
  const [verb = '', name = ''] = (ordered()[done] ?? '').split(' ');
  if (verb === 'start')
    void run(target.supervisor, name).catch((error: Error) => tell('refused', { reason: error.message }));
  else
    await target.supervisor.usage(name).then(
      (usage) => tell('usage', { usage }),
      ({ code, message }: NodeJS.ErrnoException) => tell('usage', { code, message }),
    );
  await pace(1);
}
