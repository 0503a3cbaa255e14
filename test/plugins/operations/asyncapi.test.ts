/** `/asyncapi.json`: an AsyncAPI 3.0 document of every topic, and a table that holds every topic that a manifest may publish. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { checkTopic, EVENTS, matchesTopic, type PluginManifest } from '@device-core/plugin-api';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { asyncapi } from '../../../plugins/interface/operations/asyncapi.ts';
import { discoveryOperations } from '../../../plugins/interface/operations/discovery.ts';
import { startCore } from '../../fixtures/core.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** The kernel's own, what `events` alone tells, and what apps publish through it: in no manifest. */
const ELSEWHERE = ['plugin.changed', 'plugin.state', 'system.bus.dropped'];
const device = { sku: { id: 'test', title: 'Test device', simulated: true }, core: { version: '1.0.0', api: '1.0.0' } };

after(leakCheck());

const REF = {
  type: 'object',
  additionalProperties: false,
  required: ['$ref'],
  properties: { $ref: { type: 'string' } },
};
const named = (of: object) => ({
  type: 'object',
  propertyNames: { pattern: '^[A-Za-z0-9._-]+$' },
  additionalProperties: of,
});
/** The parts of AsyncAPI 3.0 that the document uses, as its specification has them. */
const SHAPE = {
  type: 'object',
  additionalProperties: false,
  required: ['asyncapi', 'info'],
  properties: {
    asyncapi: { const: '3.0.0' },
    info: {
      type: 'object',
      additionalProperties: false,
      required: ['title', 'version'],
      properties: { title: { type: 'string' }, version: { type: 'string' }, description: { type: 'string' } },
    },
    defaultContentType: { const: 'application/json' },
    channels: named({
      type: 'object',
      additionalProperties: false,
      patternProperties: { '^x-': {} },
      properties: {
        address: { type: 'string' },
        summary: { type: 'string' },
        description: { type: 'string' },
        messages: named(REF),
        parameters: named({ type: 'object', properties: { description: { type: 'string' } } }),
      },
    }),
    operations: named({
      type: 'object',
      additionalProperties: false,
      required: ['action', 'channel'],
      properties: {
        action: { enum: ['send', 'receive'] },
        summary: { type: 'string' },
        channel: REF,
        messages: { type: 'array', items: REF },
      },
    }),
    components: {
      type: 'object',
      additionalProperties: false,
      properties: {
        messages: named({
          type: 'object',
          additionalProperties: false,
          required: ['name', 'payload'],
          properties: { name: { type: 'string' }, summary: { type: 'string' }, payload: { type: 'object' } },
        }),
        schemas: named({ type: 'object' }),
      },
    },
  },
};

interface Document {
  readonly channels: Readonly<Record<string, { readonly address: string }>>;
  readonly operations: Readonly<
    Record<string, { readonly action: string; readonly channel: { readonly $ref: string } }>
  >;
}

describe('the document of the events', () => {
  const document = asyncapi(device as never) as Document;

  it('has the form of AsyncAPI 3.0, and each reference leads somewhere', () => {
    const validate = new Ajv({ strict: false }).compile(SHAPE);
    assert.ok(validate(document), JSON.stringify(validate.errors));
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '');
    assert.ok(references.length > 50);
    for (const path of references) {
      let at: unknown = document;
      for (const name of path.split('/')) at = (at as Record<string, unknown> | undefined)?.[name];
      assert.ok(at !== undefined, path);
    }
  });

  it('names every topic, who sends it, and what apps may publish', () => {
    const addresses = Object.values(document.channels).map(({ address }) => address);
    assert.deepEqual(addresses, [...Object.keys(EVENTS), 'app.{app}.event.{name}']);
    const received = Object.values(document.operations).filter(({ action }) => action === 'receive');
    const taken = received.map(({ channel }) => document.channels[channel.$ref.split('/').at(-1) ?? '']?.address);
    assert.deepEqual(taken, ['ui.banner', 'ui.toast', 'app.{app}.event.{name}']);
  });
});

it('makes the document of the events at the first request, and once', async () => {
  let made = 0;
  const core = {
    ...device.core,
    get version() {
      made++;
      return device.core.version;
    },
  };
  const found = discoveryOperations({} as never, { ...device, core } as never);
  assert.equal(made, 0);
  const { run } = found.find(({ name }) => name === 'system.asyncapi')!;
  assert.equal(await run(undefined as never, undefined as never), await run(undefined as never, undefined as never));
  assert.equal(made, 1);
});

describe('the table of topics', () => {
  const manifests = globSync('manifests/plugins/*/*.yaml', { cwd: ROOT }).map(
    (file) => parse(readFileSync(join(ROOT, file), 'utf8')) as PluginManifest,
  );
  const filters = manifests.flatMap(({ publishes = [] }) => publishes);
  const topics = Object.keys(EVENTS);

  it('has every topic that a manifest may publish, and none without a publisher', () => {
    for (const filter of filters)
      assert.ok(
        topics.some((topic) => matchesTopic(filter, topic)),
        `nothing for ${filter}`,
      );
    const unknown = topics.filter((topic) => !filters.some((filter) => matchesTopic(filter, topic)));
    assert.deepEqual(unknown.sort(), ELSEWHERE);
  });

  it('is of topics, in their order, with payloads whose schemas compile', () => {
    assert.deepEqual(topics, topics.toSorted());
    for (const [topic, { payload }] of Object.entries(EVENTS)) {
      checkTopic(topic);
      assert.doesNotThrow(() => new Ajv({ strict: true, strictTypes: false }).compile(payload), topic);
    }
  });

  it('says what a Core really publishes', async () => {
    const plugins = ['operations', 'identity', 'system', 'config', 'changes', 'audio', 'audio-sim'];
    await using core = await startCore({ plugins: Object.fromEntries(plugins.map((id) => [id, '*'])) });
    const seen = await core.service(eventBus).retained(['**']);
    assert.ok(seen.some(({ topic }) => topic === 'plugin.state'));
    for (const { topic, payload } of seen) {
      const fits = new Ajv({ strict: false }).compile(EVENTS[topic]?.payload ?? { not: {} });
      assert.ok(fits(payload), `${topic} ${JSON.stringify(payload)}: ${JSON.stringify(fits.errors)}`);
    }
  });
});
