/** The demo apps of docs/examples as they stand, on a Core with a simulated bridge. Costs a whole Core with its apps as processes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Caller, EventEnvelope } from '@device-core/plugin-api';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { apps } from '@device-core/plugin-api/services/apps';
import { config } from '@device-core/plugin-api/services/config';
import { functions } from '@device-core/plugin-api/services/functions';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Core, startCore } from '../fixtures/core.ts';
import { stays, eventually as until } from '../fixtures/eventually.ts';

const AGENDA = 'com.example.agenda';
const FLASH = 'com.example.flash-reader';
const HANDLE = { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 };
const BELOW = [
  'operations',
  'identity',
  'system',
  'http',
  'limits',
  'rpc',
  'events',
  'functions',
  'config',
  'supervisor-process',
  'apps',
];
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const watching = new AbortController();
let core: Core;

before(async () => {
  core = await startCore({
    plugins: Object.fromEntries([...BELOW, 'port-sim', 'endpoints', 'cbp', 'spi'].map((id) => [id, '^1.0.0'])),
    config: {
      apps: { folders: ['docs/examples/agenda', 'docs/examples/flash-reader'] },
      'port-sim': { board: 'demo' },
      spi: { handles: [HANDLE] },
    },
    grants: { [FLASH]: ['bridges.spi:flash'] },
  });
});
after(async () => {
  watching.abort();
  await core?.stop();
});

const call = (app: string, name: string, inputs: Readonly<Record<string, unknown>> = {}) =>
  core.service(functions).call({ app, name, inputs, caller: OPERATOR });

const healthy = (app: string) =>
  until(async () => {
    const { state, health } = await core.service(apps).status(app);
    return state === 'running' && health ? health : undefined;
  }, `health of ${app}`);

/** Everything that is published from now on below the filters, as the operator sees it. */
async function watch(...filter: readonly string[]): Promise<readonly EventEnvelope[]> {
  const seen: EventEnvelope[] = [];
  const call = { caller: OPERATOR, signal: watching.signal, deadline: Date.now() + 60_000 };
  const stream = (await core.service(operations).invoke('events.stream', { filter }, call)) as AsyncIterable<{
    readonly data: EventEnvelope;
  }>;
  void (async () => {
    for await (const { data } of stream) seen.push(data);
  })().catch((thrown) => assert.equal(watching.signal.aborted, true, String(thrown)));
  return seen;
}

test('agenda answers the next appointment, soonest first', async () => {
  await healthy(AGENDA);
  await call(AGENDA, 'agenda.add', { title: 'Later', inSeconds: 7200 });
  const { at } = await call(AGENDA, 'agenda.add', { title: 'Sooner', inSeconds: 3600 });
  const next = await call(AGENDA, 'agenda.next');
  assert.deepEqual(next.appointments, [{ title: 'Sooner', at }]);
  assert.match(String(next.say), /^Sooner (tomorrow )?at \d+:\d\d.[AP]M\.$/);
  const { appointments } = await call(AGENDA, 'agenda.next', { count: 5 });
  assert.deepEqual(
    (appointments as { title: string }[]).map(({ title }) => title),
    ['Sooner', 'Later'],
  );
});

test('agenda refuses inputs of another type, by the word of its specification', async () => {
  await healthy(AGENDA);
  await assert.rejects(call(AGENDA, 'agenda.next', { count: 'many' }), { code: 'PARAMS_INVALID' });
});

test('agenda reminds by an event of its own and a toast, as its configuration and the presence say', async () => {
  await healthy(AGENDA);
  const seen = await watch(`app.${AGENDA}.event.**`, 'ui.toast');
  const told = (title: string) => seen.filter(({ payload }) => Object.values(payload).includes(title));
  const remind = async (title: string, topics: readonly string[]) => {
    await call(AGENDA, 'agenda.add', { title, inSeconds: 0 });
    await until(() => told(title).length >= topics.length || undefined, title);
    await stays(() => told(title).length <= topics.length, 'no other toast comes');
    assert.deepEqual(
      told(title).map(({ topic, source }) => [topic, source]),
      topics.map((topic) => [topic, `app.${AGENDA}`]),
    );
  };
  const due = `app.${AGENDA}.event.due`;
  await remind('First', [due, 'ui.toast']);

  await core.service(config).set({ app: AGENDA }, 'toast', false, { by: 'operator' });
  await remind('Second', [due]);
  await core.service(config).set({ app: AGENDA }, 'toast', null, { by: 'operator' });

  const presence = (state: string) => ({ topic: 'system.presence', payload: { state, confidence: 1 }, source: 'core' });
  await core.service(eventBus).publish(presence('absent'));
  await remind('Third', [due]);
  await core.service(eventBus).publish(presence('present'));
  await remind('Fourth', [due, 'ui.toast']);
});

test('agenda keeps its appointments over a kill -9', async () => {
  await healthy(AGENDA);
  const { at } = await call(AGENDA, 'agenda.add', { title: 'Very soon', inSeconds: 1800 });
  const { pid } = await core.service(apps).status(AGENDA);
  process.kill(pid ?? 0, 'SIGKILL');
  const next = await until(() => call(AGENDA, 'agenda.next').catch(() => undefined), 'an answer');
  assert.deepEqual(next.appointments, [{ title: 'Very soon', at }]);
});

test('flash-reader identifies the chip over REST and reads it over JSON-RPC', async () => {
  const { status, message } = await healthy(FLASH);
  assert.equal(status, 'okay', message);
  const { jedec } = await call(FLASH, 'flash.id');
  assert.match(String(jedec), /^[0-9a-f]{6}$/);
  assert.notEqual(jedec, '000000');
  const { data } = await call(FLASH, 'flash.read', { offset: 0, length: 32 });
  assert.equal(Buffer.from(String(data), 'base64').length, 32);
});

test('an error of the app itself reaches the caller as one', async () => {
  await healthy(FLASH);
  await assert.rejects(call(FLASH, 'flash.read', { offset: -1 }), { code: 'APP_ERROR' });
});
