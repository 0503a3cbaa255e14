import { join } from 'node:path';
import { connectApp } from '@device-core/plugin-api/app';
import { Agenda } from './agenda.ts';

const DUE = 'app.com.example.agenda.event.due';
const LOOK_MS = 250;

const app = await connectApp();
const agenda = await Agenda.open(join(app.environment.dataDir ?? '.', 'appointments.json'));

// Configuration: the value that holds now, and every change of it.
let leadSeconds = await app.config.get<number>('leadSeconds');
let toast = await app.config.get<boolean>('toast');
app.config.onChange(({ key, value }) => {
  if (key === 'leadSeconds') leadSeconds = Number(value);
  if (key === 'toast') toast = value === true;
});

// Events of the device: nobody there, nobody to show a toast to.
let somebodyThere = true;
await app.events.subscribe('system.presence', ({ payload }) => {
  somebodyThere = (payload as { state?: string }).state !== 'absent';
});

// Functions: what other apps and voice may ask of this one.
await app.provide(
  {
    name: 'agenda.next',
    version: '1.0.0',
    description: 'The next appointments, soonest first.',
    inputs: { count: 'int?' },
    returns: { appointments: 'array' },
    idempotent: true,
    utterances: ['what is next on my agenda', 'my next appointment'],
  },
  ({ count = 1 }: { count?: number }) => ({ appointments: agenda.next(count) }),
);
await app.provide(
  {
    name: 'agenda.add',
    version: '1.0.0',
    description: 'Adds an appointment so many seconds from now.',
    inputs: { title: 'string', inSeconds: 'number' },
    returns: { at: 'int' },
  },
  async ({ title, inSeconds }: { title: string; inSeconds: number }) => {
    const at = Math.round(Date.now() + inSeconds * 1000);
    await agenda.add({ title, at });
    return { at };
  },
);

async function remind(): Promise<void> {
  for (const { title, at } of await agenda.takeDue(Date.now() + leadSeconds * 1000)) {
    await app.events.publish(DUE, { title, at });
    if (toast && somebodyThere) await app.events.publish('ui.toast', { text: title, level: 'info' });
  }
}

const timer = setInterval(() => {
  remind().catch((error: Error) => console.error(`cannot remind: ${error.message}`));
}, LOOK_MS);
await app.call('health.report', { status: 'okay' });
console.log(`stopped: ${await app.stopped}`);
clearInterval(timer);
