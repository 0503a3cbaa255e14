/** Questions of real apps, asked and answered on the panel of the device: what is touched really grants or refuses, and nothing an app does is in the way. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Caller, steadyMs } from '@device-core/plugin-api';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { panelAnswers } from '@device-core/plugin-api/inside/services/panel-answers';
import { apps } from '@device-core/plugin-api/services/apps';
import { display, notifications } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually, turns } from '../fixtures/eventually.ts';

const PLUGINS = [
  ...['operations', 'identity', 'system', 'http', 'rpc', 'events', 'supervisor-process', 'apps', 'prompts'],
  ...['panel-headless', 'display', 'render-soft', 'input-sim', 'notify', 'system-view'],
];
const EAR = 'com.example.ear';
const CONNECT = `require('node:net').connect(process.env.DEVICE_RPC_SOCKET).on('error', () => process.exit(9)).resume();`;
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const ALLOW = { x: 516, y: 620 };
const REFUSE = { x: 204, y: 620 };

const root = mkdtempSync(join(tmpdir(), 'dpp-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** Titles are words of the app. */
function putApp(id: string, capabilities: readonly object[], title = 'Ear', script = CONNECT): string {
  const folder = join(root, id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.cjs'), script);
  const exec = { command: 'node', args: ['main.cjs'] };
  const manifest = { manifestVersion: 1, id, name: 'ear', version: '1.0.0', title, exec, capabilities };
  writeFileSync(join(folder, 'app.yaml'), JSON.stringify(manifest));
  return folder;
}

function start(...folders: readonly string[]): Promise<Core> {
  return startCore({
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: { apps: { folders }, display: { renderers: ['soft'], locale: 'en', timeZone: 'UTC' } },
  });
}

async function invoke(core: Core, name: string, params: object, caller = OPERATOR): Promise<unknown> {
  const all = core.service(operations);
  const never = new AbortController().signal;
  return await all.invoke(name, params, { caller, signal: never, deadline: steadyMs() + 30_000 });
}

/** What the screen says, without marks of direction. */
async function said(core: Core): Promise<string> {
  return (await core.service(display).describe()).join(' | ').replace(/[\u2066-\u2069]/g, '');
}

/** The question is there, and its buttons take touch. */
async function asked(core: Core): Promise<void> {
  await eventually(async () => (await said(core)).includes('[Allow]'), 'a question that can be answered');
}

const held = async (core: Core) => {
  const { state, capabilities } = await core.service(apps).status(EAR);
  return state === 'running' ? capabilities.join() : undefined;
};

const CLAIMS = [
  { id: 'audio.capture', reason: 'to hear you' },
  { id: 'sensors.nfc', reason: 'to read tags', optional: true },
];

describe('on the panel', () => {
  it('Allow grants the required rights: the app runs with them, optional ones are denied, and the answer is kept as that of the panel', async () => {
    await using core = await start(putApp(EAR, CLAIMS));
    await asked(core);
    assert.match(await said(core), /Ear: wants permission/);
    assert.match(await said(core), /Hear the microphone \| The app says: “to hear you”/);
    await invoke(core, 'display.touch', ALLOW);
    await eventually(async () => (await held(core)) === 'audio.capture', 'the grant');
    await eventually(async () => !(await said(core)).includes('permission'), 'the question is gone');
    assert.deepEqual(
      (await core.service(consents).of(EAR)).map(({ capability, allowed, by }) => [capability, allowed, by]),
      [
        ['audio.capture', true, 'panel'],
        ['sensors.nfc', false, 'panel'],
      ],
    );
  });

  it('Refuse refuses, and the key back does the same', async () => {
    await using core = await start(putApp(EAR, CLAIMS));
    await asked(core);
    await invoke(core, 'display.key', { name: 'back' });
    await eventually(async () => (await core.service(prompts).list()).length === 0, 'the answer');
    await eventually(async () => (await core.service(consents).of(EAR)).length === 2, 'it is kept');
    assert.deepEqual(
      (await core.service(consents).of(EAR)).map(({ allowed, by }) => `${allowed} ${by}`),
      ['false panel', 'false panel'],
    );
    await eventually(async () => (await held(core)) === '', 'it runs without');
  });

  it('a question that is answered elsewhere goes away, and a touch that comes then does nothing', async () => {
    await using core = await start(putApp(EAR, CLAIMS));
    await asked(core);
    const [open] = await core.service(prompts).list();
    await invoke(core, 'prompts.answer', { id: open?.id, allow: [] });
    await invoke(core, 'display.touch', ALLOW);
    await eventually(async () => !(await said(core)).includes('permission'), 'the question is gone');
    assert.ok((await core.service(consents).of(EAR)).every(({ allowed, by }) => !allowed && by === 'operator'));
  });
});

describe('an app', () => {
  const asEar: Caller = { kind: 'app', id: EAR };
  const ATTACKS: readonly (readonly [what: string, act: (core: Core) => Promise<unknown>])[] = [
    [
      'answers its own question',
      async (core) => {
        const [open] = await core.service(prompts).list();
        await assert.rejects(invoke(core, 'prompts.answer', { id: open?.id, allow: ['audio.capture'] }, asEar), {
          code: 'CALLER_DENIED',
        });
      },
    ],
    [
      'says that its question is settled',
      async (core) => {
        const event = { topic: 'prompt.state', payload: { state: 'answered' } };
        await assert.rejects(invoke(core, 'events.publish', event, asEar), { code: 'TOPIC_DENIED' });
      },
    ],
    [
      'says that the device listens, or that the power goes',
      async (core) => {
        for (const topic of ['audio.state', 'system.power', 'plugin.state', 'display.state'])
          await assert.rejects(invoke(core, 'events.publish', { topic, payload: {} }, asEar), { code: 'TOPIC_DENIED' });
      },
    ],
    [
      'touches the panel itself',
      async (core) => {
        await assert.rejects(invoke(core, 'display.touch', ALLOW, asEar), { code: 'CAPABILITY_DENIED' });
        await assert.rejects(invoke(core, 'display.key', { name: 'ok' }, asEar), { code: 'CAPABILITY_DENIED' });
      },
    ],
    [
      'tells a banner in the name of another',
      async (core) => {
        const payload = { action: 'show', text: 'Update now', level: 'error', app: 'com.example.bank' };
        await assert.rejects(invoke(core, 'events.publish', { topic: 'ui.banner', payload }, asEar), {
          code: 'PARAMS_INVALID',
        });
      },
    ],
    [
      'floods the panel with toasts and banners',
      async (core) => {
        const bus = core.service(eventBus);
        for (let number = 0; number < 2_000; number += 1) {
          const text = `Touch here ${number}`;
          const toast = { text, level: 'error' };
          const banner = { action: 'show', text, level: 'error', buttons: [{ id: 'a', title: 'Allow' }] };
          const event =
            number % 2 === 0 ? { topic: 'ui.toast', payload: toast } : { topic: 'ui.banner', payload: banner };
          await bus.publish({ ...event, source: `app.${EAR}` });
        }
        await turns();
        assert.doesNotMatch(await said(core), /Touch here/);
        assert.ok((await core.service(notifications).list()).length <= 60);
      },
    ],
    [
      'asks again and again under the finger',
      async (core) => {
        await core.service(apps).restart(EAR);
        assert.equal((await core.service(prompts).list()).length, 1);
      },
    ],
  ];
  for (const [what, act] of ATTACKS)
    it(`that ${what} changes nothing: the question stands, and Refuse refuses`, async () => {
      await using core = await start(putApp(EAR, [...CLAIMS, { id: 'display.notify', reason: 'to tell you' }]));
      await asked(core);
      await act(core);
      await asked(core);
      await invoke(core, 'display.touch', REFUSE);
      await eventually(async () => (await core.service(consents).of(EAR)).length === 2, 'the answer');
      assert.ok((await core.service(consents).of(EAR)).every(({ allowed, by }) => !allowed && by === 'panel'));
    });

  it('with a title like the device is named by its id all the same', async () => {
    await using core = await start(putApp(EAR, CLAIMS, 'System update'));
    await asked(core);
    const line = await said(core);
    assert.match(line, /System update/);
    assert.match(line, /com\.example\.ear/);
  });
});

it('an app with a screen of its own, right below a question, hears of no touch on the question', async () => {
  const script = CONNECT.replace('.resume()', `.on('data', (data) => process.stdout.write(data))`);
  const surface = { id: 'display.surface', reason: 'to show something' };
  await using core = await start(putApp(EAR, [surface], 'Ear', script));
  await eventually(async () => (await held(core)) === 'display.surface', 'the app');
  const touches = async () =>
    JSON.stringify(await invoke(core, 'apps.logs', { id: EAR })).split('display.input').length - 1;
  const node = { kind: 'rect', id: 'all', w: 720, h: 720, fill: '@accent', tap: 'all', label: 'All' };
  await invoke(core, 'display.show', { scene: 1, nodes: [node] }, { kind: 'app', id: EAR });
  await core.service(display).open(EAR);
  await eventually(
    async () => {
      await invoke(core, 'display.touch', ALLOW);
      return (await touches()) > 0;
    },
    'a touch of its own',
    { ms: 3_000 },
  );
  await turns();
  const before = await touches();
  const answer = core.service(prompts).ask({ kind: 'confirm', subject: EAR, title: 'Ear', what: [] });
  await eventually(async () => (await said(core)).includes('[Confirm]'), 'the question');
  await invoke(core, 'display.touch', { x: 360, y: 300 });
  await invoke(core, 'display.touch', ALLOW);
  assert.deepEqual((await answer).allow, ['yes']);
  assert.equal(await touches(), before);
});

describe('another plugin', () => {
  it('neither answers for the panel nor draws where the device speaks', async () => {
    await using core = await start(putApp(EAR, CLAIMS));
    await asked(core);
    const [open] = await core.service(prompts).list();
    await assert.rejects(core.service(panelAnswers).answer(open?.id ?? '', ['audio.capture']), {
      code: 'CALLER_DENIED',
    });
    const scene = { scene: 1, nodes: [] } as const;
    for (const layer of ['toast', 'banner', 'prompt', 'system'] as const)
      await assert.rejects(core.service(display).put({ id: 'x', layer, scene }), { code: 'PARAMS_INVALID' });
  });
});
