import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  type IntentInterpreter,
  type Intents,
  type InterpreterDescription,
  intents,
} from '@device-core/plugin-api/services/intents';
import { given, leakCheck } from '@device-core/plugin-api/testing';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { INFO, type Manner, Service } from './service.ts';
import { eventually, failure, HASTY, healthOf, NEVER, type Started, start } from './start.ts';

after(leakCheck());

const BY = INFO.asr[0]!;
const INTENTS = { intent: [{ ...BY, models: [{ ...BY, name: 'home', languages: ['en'] }] }] };

/** Keeps the interpreters that are added. */
class FakeIntents {
  readonly added: { readonly description: InterpreterDescription; readonly interpreter: IntentInterpreter }[] = [];
  readonly implementation: Partial<Intents> = {
    addInterpreter: (description, interpreter) => {
      const row = { description, interpreter };
      this.added.push(row);
      return {
        [Symbol.asyncDispose]: async () => {
          this.added.splice(this.added.indexOf(row), 1);
        },
      };
    },
  };
}

async function withIntents(service: Service, more: object = {}, config: object = {}) {
  const known = new FakeIntents();
  const { service: registry } = new EngineRegistry();
  const services = [registry, given(intents, known.implementation)];
  const engines = [{ kind: 'intent', id: 'home', uri: service.uri, ...more }];
  const started = await start({ engines, ...config }, services);
  await eventually('its registration', () => known.added.length === 1);
  return { started, known };
}

const ask = ({ added }: FakeIntents, text = 'make it cosy', language = 'en', signal = NEVER) =>
  added[0]!.interpreter.interpret(text, { language, signal });

const answering =
  (type: string, data: object = {}): Manner =>
  (peer, told) => {
    if (told.type === 'recognize') peer.tell(type, data);
  };

async function using<T>(
  manner: Manner,
  work: (known: FakeIntents, service: Service, all: Started) => Promise<T>,
  config: object = {},
) {
  await using service = await Service.start();
  service.info = INTENTS;
  service.manner = manner;
  const { started, known } = await withIntents(service, { intents: { HassTurnOn: 'com.example.lights.on' } }, config);
  await using _ = started;
  return await work(known, service, started);
}

describe('external intent engines', { timeout: 300_000 }, () => {
  it('are interpreters of our intents, and leave with the plugin', async () => {
    await using service = await Service.start();
    service.info = INTENTS;
    const { started, known } = await withIntents(service);
    const description = { id: 'home', title: 'A test (Wyoming)', languages: ['en'], stage: 'local' };
    assert.deepEqual(known.added[0]!.description, description);
    await eventually('good health', async () => (await healthOf(started.host)).status === 'okay');
    await started.host.stop();
    assert.deepEqual(known.added, []);
    assert.deepEqual(started.host.leaks(), []);
  });

  it('say what a sentence means, by our names where they have others', () =>
    using(
      answering('intent', {
        name: 'HassTurnOn',
        entities: [
          { name: 'room', value: 'kitchen' },
          { name: 'level', value: 5 },
        ],
        text: 'Done.',
      }),
      async (known, service) => {
        const meant = { intent: 'com.example.lights.on', slots: { room: 'kitchen', level: 5 } };
        assert.deepEqual(await ask(known), meant);
        assert.deepEqual(service.heardOf('recognize')[0]?.data, { text: 'make it cosy' });
      },
    ));

  it('may name our intents themselves, and have no entities', () =>
    using(answering('intent', { name: 'device.stop', entities: null }), async (known) => {
      assert.deepEqual(await ask(known), { intent: 'device.stop', slots: {} });
    }));

  it('may not know', () =>
    using(answering('not-recognized', { text: 'Sorry.' }), async (known) => assert.equal(await ask(known), undefined)));

  const faults: readonly [title: string, manner: Manner, message: RegExp][] = [
    ['name nothing', answering('intent', { entities: [] }), /no name/],
    ['have entities that are no list', answering('intent', { name: 'x', entities: {} }), /no list/],
    ['have an entity without a name', answering('intent', { name: 'x', entities: [{ value: 1 }] }), /no name/],
    ['have an object for a value', answering('intent', { name: 'x', entities: [{ name: 'a', value: {} }] }), /value/],
    [
      'have entities without end',
      answering('intent', { name: 'x', entities: Array.from({ length: 65 }, () => ({ name: 'a', value: 1 })) }),
      /more than 64/,
    ],
    ['refuse', answering('error', { text: 'no model' }), /no model/],
    ['hang', () => undefined, /did not come within/],
    ['hang up', (peer, { type }) => void (type === 'recognize' && peer.socket.end()), /hung up/],
  ];
  for (const [title, manner, message] of faults)
    it(`fail where they ${title}`, () =>
      using(
        manner,
        async (known) => {
          const error = await failure(ask(known));
          assert.equal(error.code, 'SPEECH_FAILED');
          assert.match(error.message, message);
        },
        title === 'hang' ? HASTY : {},
      ));

  it('do not know every language, and stop when the caller leaves', () =>
    using(
      () => undefined,
      async (known, service) => {
        assert.equal((await failure(ask(known, 'Hallo', 'de'))).code, 'LANGUAGE_UNSUPPORTED');
        const stop = new AbortController();
        const asking = failure(ask(known, 'x', 'en', stop.signal));
        await eventually('the question', () => service.heardOf('recognize').length === 1);
        stop.abort();
        assert.equal((await asking).code, 'CANCELLED');
      },
    ));

  it('wait for a service that has intents', async () => {
    await using service = await Service.start();
    service.info = INTENTS;
    const { service: registry } = new EngineRegistry();
    const engines = [{ kind: 'intent', id: 'home', uri: service.uri }];
    await using started = await start({ engines, mostPauseMs: 60_000 }, [registry]);
    await eventually('that', async () =>
      /no installed app has intents/.test((await healthOf(started.host)).message ?? ''),
    );
    const known = new FakeIntents();
    const [, implementation] = given(intents, known.implementation);
    for (const _ of [1, 2]) {
      await started.host.appear(intents, implementation as Intents);
      await eventually('its registration', () => known.added.length === 1);
      await started.host.disappear(intents);
      await eventually('its end', async () =>
        /no installed app has intents/.test((await healthOf(started.host)).message ?? ''),
      );
    }
  });
});
