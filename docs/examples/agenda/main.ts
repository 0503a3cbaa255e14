import { join } from 'node:path';
import { connectApp } from '@device-core/plugin-api/app';
import { Agenda } from './agenda.ts';
import { sayAppointments, sayDay } from './spoken.ts';

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

// Functions: what other apps and voice may ask of this one. `utterances` are the sentences for it, `say` is what is spoken.
await app.provide(
  {
    name: 'agenda.next',
    version: '1.0.0',
    description: 'The next appointments, soonest first.',
    inputs: { count: 'int?' },
    returns: { appointments: 'array', say: 'string?' },
    idempotent: true,
    utterances: [
      "(what is|what's) next on my agenda",
      "[(what is|what's)] my next appointment",
      '[what are] my next {count:2..9} appointments',
    ],
  },
  ({ count = 1 }: { count?: number }) => {
    const appointments = agenda.next(count);
    return { appointments, say: sayAppointments(appointments, new Date()) };
  },
);
await app.provide(
  {
    name: 'agenda.day',
    version: '1.0.0',
    description: 'The appointments of today or tomorrow.',
    inputs: { day: 'string?' },
    returns: { appointments: 'array', say: 'string?' },
    idempotent: true,
    utterances: [
      "(what is|what's) on my agenda [{day:today|tomorrow}]",
      'read [me] my agenda [for {day:today|tomorrow}]',
    ],
  },
  ({ day = 'today' }: { day?: string }) => {
    const now = new Date();
    const date = new Date(now.getFullYear(), now.getMonth(), now.getDate() + (day === 'tomorrow' ? 1 : 0));
    const appointments = agenda.on(date);
    return { appointments, say: sayDay(appointments, day, now) };
  },
);
await app.provide(
  {
    name: 'agenda.add',
    version: '1.0.0',
    description: 'Adds an appointment so many seconds from now.',
    inputs: { title: 'string', inSeconds: 'number' },
    returns: { at: 'int', say: 'string?' },
    // A plain slot takes any words: for text, and for recognisers that need no grammar.
    utterances: [
      'put {title} on my agenda in {inSeconds:a minute=60|five minutes=300|half an hour=1800|an hour=3600}',
      'in {inSeconds:a minute=60|five minutes=300|half an hour=1800|an hour=3600} put {title} on my agenda',
    ],
  },
  async ({ title, inSeconds }: { title: string; inSeconds: number }) => {
    const at = Math.round(Date.now() + inSeconds * 1000);
    await agenda.add({ title, at });
    return { at, say: `${title}: it is on your agenda.` };
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
