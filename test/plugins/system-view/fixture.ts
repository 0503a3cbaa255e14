/** Plugin system-view before a screen in memory, with questions that a test asks. */
import assert from 'node:assert/strict';
import { panelAnswers } from '@device-core/plugin-api/inside/services/panel-answers';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { type Audio, type AudioState, audio } from '@device-core/plugin-api/services/audio';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { display } from '@device-core/plugin-api/services/display';
import { type IntentDefinition, type IntentRun, type Intents, intents } from '@device-core/plugin-api/services/intents';
import { type Operations, operations } from '@device-core/plugin-api/services/operations';
import { type Prompt, type PromptItem, prompts } from '@device-core/plugin-api/services/prompts';
import { type Voice, type VoiceState, voice } from '@device-core/plugin-api/services/voice';
import { createTestHost, given, type TestHost, type VirtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/system-view/index.ts';
import { FakeDisplay } from '../../fixtures/fake-display.ts';

export const MANIFEST = 'manifests/plugins/display/system-view.yaml';
export const AGENDA = 'com.example.agenda';

export function item(capability: string, more: Partial<PromptItem> = {}): PromptItem {
  return {
    capability: capability as PromptItem['capability'],
    summary: `use ${capability}`,
    reason: 'it needs it',
    optional: false,
    ...more,
  };
}

export function question(id: string, more: Partial<Prompt> = {}): Prompt {
  return {
    id,
    kind: 'consent',
    subject: AGENDA,
    title: 'Agenda',
    version: '1.2.0',
    signer: 'Example Ltd',
    what: [item('audio.capture'), item('sensors.nfc', { optional: true })],
    since: 0,
    until: 600_000,
    ...more,
  };
}

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly screen: FakeDisplay;
  readonly open: Prompt[];
  readonly answers: (readonly [id: string, allow: readonly string[]])[];
  /** What can be said, by id. */
  readonly sentences: ReadonlyMap<string, IntentDefinition>;
  /** Says it; resolves with the answer. */
  say(id: string): Promise<string | undefined>;
  readonly invoked: (readonly [name: string, params: unknown, caller: unknown])[];
  /** Asks, or with undefined takes back. */
  ask(...prompts: readonly Prompt[]): void;
  settled(id: string): void;
  hear(state: Partial<AudioState>): void;
}

export async function boot(
  options: {
    readonly clock?: VirtualClock;
    readonly sku?: string;
    readonly lastStart?: object | null;
    /** Of /health. */
    readonly warnings?: readonly object[];
    readonly voice?: VoiceState /** Why no answer is taken. */;
    readonly answering?: Error;
  } = {},
): Promise<Bench> {
  const screen = new FakeDisplay();
  const open: Prompt[] = [];
  const answers: (readonly [string, readonly string[]])[] = [];
  const said = new Map<
    string,
    { readonly definition: IntentDefinition; readonly run: Parameters<Intents['add']>[1] }
  >();
  const sentences = new Map<string, IntentDefinition>();
  const invoked: (readonly [string, unknown, unknown])[] = [];
  const ears = new Set<(state: AudioState) => void>();
  let heard: AudioState = { volume: 1, muted: false, capturing: [], playing: [] };
  const settled = (id: string) => {
    const at = open.findIndex((one) => one.id === id);
    if (at >= 0) open.splice(at, 1);
    host.publish('prompt.state', { id, state: 'answered' });
  };
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    ...(options.clock && { clock: options.clock }),
    services: [
      [display, screen.service],
      given(device, {
        info: async () =>
          ({
            sku: { id: options.sku ?? 'test', title: 'Test', simulated: true },
            paths: { etc: '/tmp/dsv/etc', var: '/tmp/dsv/var', run: '/tmp/dsv/run' },
          }) as DeviceInfo,
      }),
      given(prompts, { list: async () => open }),
      given(panelAnswers, {
        async answer(id, allow) {
          if (options.answering) throw options.answering;
          answers.push([id, allow]);
          settled(id);
          return { state: 'answered', allow, at: 0 };
        },
      }),
      given<Audio>(audio, {
        onState(listener: (state: AudioState) => void) {
          const own = (state: AudioState) => listener(state);
          ears.add(own);
          own(heard);
          return { [Symbol.dispose]: () => void ears.delete(own) };
        },
      }),
      given<Intents>(intents, {
        add(definition, run) {
          assert.ok(!said.has(definition.id), `${definition.id} is there already`);
          said.set(definition.id, { definition, run });
          sentences.set(definition.id, definition);
          return {
            async [Symbol.asyncDispose]() {
              said.delete(definition.id);
              sentences.delete(definition.id);
            },
          };
        },
      }),
      given<Voice>(voice, { state: async () => ({ state: options.voice ?? 'idle' }) }),
      given<Apps>(apps, {
        list: async () => [{ id: AGENDA, title: 'Agenda' }] as never,
        onChange: () => ({ [Symbol.dispose]: () => undefined }),
      }),
      given<Operations>(operations, {
        async invoke(name: string, params: unknown, call: { readonly caller: unknown }) {
          invoked.push([name, params, call.caller]);
          if (name === 'system.health') return { warnings: options.warnings ?? [] };
          return name === 'logs.lastStart' ? { lastStart: options.lastStart ?? null } : {};
        },
      }),
    ],
  });
  return {
    host,
    screen,
    open,
    answers,
    sentences,
    invoked,
    settled,
    async say(id) {
      const { run, definition } = said.get(id) ?? assert.fail(`nobody knows ${id}`);
      const spoken: IntentRun = {
        slots: {},
        text: definition.title,
        turn: 't',
        deadline: Number.POSITIVE_INFINITY,
        signal: new AbortController().signal,
      };
      return (await run(spoken)).say;
    },
    ask(...asked) {
      open.push(...asked);
      for (const { id } of asked) host.publish('prompt.state', { id, state: 'open' });
    },
    hear(state) {
      heard = { ...heard, ...state };
      for (const listener of [...ears]) listener(heard);
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      assert.equal(options.clock?.pending ?? 0, 0);
    },
  };
}
