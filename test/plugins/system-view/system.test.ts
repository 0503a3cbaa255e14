/** The layer of the system: microphone, safe mode, power and what does not work. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { LANGUAGES } from '../../../plugins/display/system-view/strings/index.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { soft } from '../render-soft/soft.ts';
import { AGENDA, type Bench, boot } from './fixture.ts';

after(leakCheck());

const labels = ({ screen }: Bench, id: string) =>
  screen
    .says(id)
    .join(' | ')
    .replace(/[\u2066-\u2069]/g, '');

describe('the sign of the microphone', () => {
  const NAME = 'The microphone: listening for the wake phrase';
  const heardBy = (who: string) => `The microphone is in use by: ${who}`;
  const VOICE = 'plugin:voice';
  const APP = `app:${AGENDA}`;
  type Look = 'none' | 'dot' | 'full' | 'muted';
  type Heard = { readonly voice?: string; readonly capturing?: readonly string[]; readonly muted?: boolean };
  const LOOKS: readonly (readonly [title: string, heard: Heard, look: Look, label: string])[] = [
    ['nobody hears', {}, 'none', ''],
    ['the voice waits for its name', { capturing: [VOICE] }, 'dot', NAME],
    ['after a turn', { capturing: [VOICE], voice: 'idle' }, 'dot', NAME],
    ['after a turn that failed', { capturing: [VOICE], voice: 'error' }, 'dot', NAME],
    ['a turn listens', { capturing: [VOICE], voice: 'listening' }, 'full', heardBy('voice')],
    ['a turn listens, and audio says nothing', { voice: 'listening' }, 'full', heardBy('voice')],
    ['a turn thinks', { capturing: [VOICE], voice: 'thinking' }, 'full', heardBy('voice')],
    ['a turn speaks', { capturing: [VOICE], voice: 'speaking' }, 'full', heardBy('voice')],
    ['a state that nobody knows', { capturing: [VOICE], voice: 'quiet' }, 'full', heardBy('voice')],
    ['an app hears', { capturing: [APP] }, 'full', heardBy('Agenda')],
    ['an app hears while the voice waits', { capturing: [APP, VOICE] }, 'full', heardBy('Agenda, voice')],
    [
      'an app hears while a turn listens',
      { capturing: [APP, VOICE], voice: 'listening' },
      'full',
      heardBy('Agenda, voice'),
    ],
    ['an app with the id of the voice hears', { capturing: ['app:voice'] }, 'full', heardBy('voice')],
    [
      'an app without a title hears',
      { capturing: ['app:com.example.ear', VOICE] },
      'full',
      heardBy('com.example.ear, voice'),
    ],
    ['wyoming hears', { capturing: ['plugin:wyoming', VOICE] }, 'full', heardBy('wyoming, voice')],
    ['the operator hears', { capturing: ['operator', VOICE] }, 'full', heardBy('operator, voice')],
    ['it is muted', { muted: true }, 'muted', 'The microphone is muted'],
    [
      'the voice hears although it is muted',
      { muted: true, capturing: [VOICE], voice: 'idle' },
      'full',
      heardBy('voice'),
    ],
  ];
  const lookOf = ({ screen }: Bench): Look => {
    const nodes = screen.nodes('capture');
    const widest = Math.max(
      0,
      ...nodes.map((node) => (node.kind === 'ellipse' && node.fill === '@capture' ? (node.w ?? 0) : 0)),
    );
    return nodes.length === 0 ? 'none' : widest === 14 ? 'dot' : widest === 40 ? 'full' : 'muted';
  };
  for (const [title, { voice, ...audio }, look, label] of LOOKS)
    it(`${title}: ${look}`, async () => {
      await using bench = await boot();
      await eventually(() => bench.screen.order.includes('capture'), 'the corner');
      if (voice !== undefined) bench.host.publish('audio.state', { state: voice });
      bench.hear(audio);
      await eventually(() => labels(bench, 'capture') === label, label);
      assert.equal(lookOf(bench), look);
    });

  for (const state of ['listening', 'thinking', 'speaking'] as const)
    it(`a turn that was ${state} before the panel came: full`, async () => {
      await using bench = await boot({ voice: state });
      bench.hear({ capturing: [VOICE] });
      await eventually(() => labels(bench, 'capture') === heardBy('voice'), 'the sign');
      assert.equal(lookOf(bench), 'full');
      bench.host.publish('audio.state', { state: 'idle' });
      await eventually(() => lookOf(bench) === 'dot', 'the dot');
    });

  it('is the full one where the voice has failed and something hears in its name', async () => {
    await using bench = await boot();
    bench.hear({ capturing: [VOICE] });
    await eventually(() => lookOf(bench) === 'dot', 'the dot');
    bench.host.publish('plugin.state', { plugin: 'voice', state: 'failed' });
    await eventually(() => lookOf(bench) === 'full', 'the full sign');
  });

  it('speaks the language of the device', async () => {
    await using bench = await boot();
    bench.screen.surround({ locale: 'de-CH' });
    bench.hear({ capturing: [APP] });
    await eventually(() => labels(bench, 'capture') === 'Das Mikrofon wird benutzt von: Agenda', 'German');
  });

  it('goes with a voice that stopped in the middle of a turn', async () => {
    await using bench = await boot();
    bench.host.publish('audio.state', { state: 'listening' });
    await eventually(() => labels(bench, 'capture') !== '', 'the sign');
    bench.host.publish('plugin.state', { plugin: 'voice', state: 'failed' });
    await eventually(() => labels(bench, 'capture') === '', 'no sign');
  });

  it('is the last surface that was put, in its corner of 48, after any other', async () => {
    await using bench = await boot();
    bench.hear({ capturing: [VOICE] });
    bench.host.publish('system.power', { state: 'shutting-down' });
    bench.host.publish('plugin.state', { plugin: 'voice', state: 'failed' });
    await eventually(() => labels(bench, 'page') !== '' && labels(bench, 'notice') !== '', 'page and notice');
    assert.deepEqual(bench.screen.order, ['page', 'notice', 'capture']);
    const { surface } = bench.screen.surfaces.get('capture') ?? {};
    assert.deepEqual([surface?.layer, surface?.box], ['system', { x: 672, y: 0, w: 48, h: 48 }]);
    assert.match(JSON.stringify(surface?.scene), /"@capture"/);
    for (const other of ['page', 'notice'])
      assert.doesNotMatch(JSON.stringify(bench.screen.surfaces.get(other)?.scene), /"@capture"/);
  });

  it('is put once for each change, and for nothing else', async () => {
    await using bench = await boot();
    const puts = () => bench.screen.asked.filter((what) => what === 'put capture').length;
    const before = puts();
    for (let time = 0; time < 20; time += 1) bench.hear({ volume: time / 20 });
    await turns();
    assert.equal(puts(), before);
  });
});

describe('the line', () => {
  const LINES: readonly (readonly [what: string, topic: string, payload: object, line: string])[] = [
    ['a voice that failed', 'plugin.state', { plugin: 'voice', state: 'failed' }, 'Voice does not work'],
    ['another plugin', 'plugin.state', { plugin: 'nfc', state: 'quarantined' }, 'nfc does not work'],
    ['no network', 'system.network', { state: 'offline' }, 'Offline'],
    ['a low battery', 'system.power', { source: 'battery', level: 0.1, state: 'discharging' }, 'Battery low 10%'],
    ['a low battery by its state', 'system.power', { state: 'low' }, 'Battery low'],
    [
      'an update that is fetched',
      'update.state',
      { state: 'downloading', version: '1.2.0', percent: 41.7 },
      'Update 1.2.0 41%',
    ],
    ['a restart for it', 'update.state', { state: 'activating', version: '1.2.0' }, 'Restarting for update 1.2.0'],
    ['its probation', 'update.state', { state: 'probation', version: '1.2.0' }, 'Update 1.2.0 is being tried'],
    [
      'one that was taken back',
      ...(['update.state', { state: 'rolled-back', version: '1.2.0', reason: 'voice failed' }] as const),
      'Update 1.2.0 was rolled back: voice failed',
    ],
  ];
  for (const [what, topic, payload, line] of LINES)
    it(`tells of ${what}`, async () => {
      await using bench = await boot();
      bench.host.publish(topic, payload);
      await eventually(() => labels(bench, 'notice') === line, line);
    });

  it('says that there is no sound, and is gone when there is', async () => {
    await using bench = await boot();
    bench.hear({ problem: 'no device' });
    await eventually(() => labels(bench, 'notice') === 'No sound: no device', 'the line');
    bench.host.publish('plugin.state', { plugin: 'voice', state: 'failed' });
    await eventually(() => labels(bench, 'notice') === 'Voice does not work', 'the worse one');
    bench.host.publish('plugin.state', { plugin: 'voice', state: 'active' });
    bench.hear({ volume: 1 } as never);
    await eventually(() => labels(bench, 'notice') === 'No sound: no device', 'the other again');
  });

  it('says for a minute that an update was taken back, and schedules nothing afterwards', async () => {
    const clock = virtualClock({ turns: 3 });
    await using bench = await boot({ clock });
    const payload = { state: 'rolled-back', version: '1.2.0', reason: 'voice failed' };
    bench.host.publish('update.state', payload);
    await clock.advance(30_000);
    bench.host.publish('update.state', payload);
    await clock.advance(10);
    assert.equal(labels(bench, 'notice'), 'Update 1.2.0 was rolled back: voice failed');
    await clock.advance(40_000);
    assert.equal(labels(bench, 'notice'), '');
    assert.equal(clock.pending, 0);
    bench.host.publish('update.state', payload);
    await clock.advance(10);
    assert.equal(labels(bench, 'notice'), '', 'it was said');
  });

  it('says for some seconds that it charges, and schedules nothing afterwards', async () => {
    const clock = virtualClock({ turns: 3 });
    await using bench = await boot({ clock });
    bench.host.publish('system.power', { source: 'mains', level: 0.4, state: 'charging' });
    await clock.advance(10);
    assert.equal(labels(bench, 'notice'), 'Charging 40%');
    await clock.advance(6_000);
    assert.equal(labels(bench, 'notice'), '');
    assert.equal(clock.pending, 0);
  });
});

it('the last screen before the power goes covers all, and wakes the panel', async () => {
  await using bench = await boot();
  bench.host.publish('system.power', { state: 'shutting-down', reason: 'Battery empty' });
  await eventually(() => labels(bench, 'page').includes('Battery empty'), 'the page');
  assert.equal(bench.screen.surfaces.get('page')?.surface.modal, true);
  assert.ok(bench.screen.asked.includes('wake power'));
});

describe('safe mode', () => {
  const lastStart = {
    sku: 'device',
    outcome: 'crashed',
    suspects: ['bad', 'other'],
    problems: [{ message: 'Unexpected token' }, { message: 'plugin bad: cannot read properties of undefined' }],
  };

  it('says which plugin is to blame and why, with a code to scan', async () => {
    await using bench = await boot({ sku: 'safe-mode', lastStart });
    await eventually(() => labels(bench, 'page').includes('bad'), 'who is to blame');
    assert.match(labels(bench, 'page'), /Safe mode .*The last start ended with an error\. Most likely to blame: bad\./);
    assert.match(
      labels(bench, 'page'),
      /A code with the cause.*Plugin bad: cannot read properties.*\[.*Switch off.*bad.*\]/,
    );
    assert.equal(bench.screen.surfaces.get('page')?.surface.modal, true);
  });

  it('says why the boot loader chose it, too, once the device is up', async () => {
    const warnings: object[] = [];
    await using bench = await boot({ sku: 'safe-mode', lastStart, warnings });
    await eventually(() => labels(bench, 'page').includes('bad'), 'who is to blame');
    warnings.push(
      { code: 'STATE_NEWER', message: 'another matter' },
      { code: 'BOOT_SAFE_MODE', message: 'safe mode: slot a ended 5 times (the last time: signal killed SEGV)' },
    );
    await bench.host.hook('kernel.ready').promise();
    await eventually(() => labels(bench, 'page').includes('Slot a ended 5 times'), 'what the loader says');
    assert.match(labels(bench, 'page'), /Slot a ended 5 times \(the last time: signal killed SEGV\) · .*cannot read/);
    assert.doesNotMatch(labels(bench, 'page'), /another matter/);
  });

  it('switches it off by a touch, as itself', async () => {
    await using bench = await boot({ sku: 'safe-mode', lastStart });
    await eventually(() => bench.screen.taps('page').includes('switch-off'), 'the button');
    bench.screen.touch('page', { tap: 'switch-off' });
    await eventually(() => labels(bench, 'page').includes('bad is switched off'), 'what became of it');
    assert.deepEqual(bench.invoked.at(-1), [
      'plugins.switch',
      { id: 'bad', enabled: false },
      { kind: 'plugin', id: 'system-view' },
    ]);
    assert.deepEqual(bench.screen.taps('page'), []);
  });

  it('comes up without anything to tell', async () => {
    await using bench = await boot({ sku: 'safe-mode' });
    await eventually(() => labels(bench, 'page').includes('The device did not start.'), 'the page');
    assert.deepEqual(bench.screen.taps('page'), []);
  });

  it('is not shown by another SKU', async () => {
    await using bench = await boot();
    await turns();
    assert.equal(labels(bench, 'page'), '');
  });
});

describe('the words of the system', () => {
  const WORDS: readonly (readonly [
    locale: string,
    sku: string | undefined,
    act: (bench: Bench) => void,
    id: string,
    said: RegExp,
  ])[] = [
    [
      'de',
      undefined,
      (bench) => bench.host.publish('plugin.state', { plugin: 'nfc', state: 'failed' }),
      'notice',
      /^nfc geht nicht$/,
    ],
    [
      'fr-CA',
      undefined,
      (bench) => bench.host.publish('system.network', { state: 'offline' }),
      'notice',
      /^Non connecté$/,
    ],
    ['ja', undefined, (bench) => bench.host.publish('system.network', { state: 'offline' }), 'notice', /^Offline$/],
    [
      'de',
      undefined,
      (bench) => bench.host.publish('system.power', { state: 'shutting-down' }),
      'page',
      /Wird ausgeschaltet/,
    ],
    ['de', 'safe-mode', () => undefined, 'page', /Abgesicherter Modus.*Fehler.*liegt es an: bad\..*Abschalten: bad/],
    ['fr', 'safe-mode', () => undefined, 'page', /Mode sans échec.*erreur.*probable : bad\..*Désactiver: bad/],
  ];
  const lastStart = { sku: 'device', outcome: 'crashed', suspects: ['bad'], problems: [] };
  for (const [locale, sku, act, id, said] of WORDS)
    it(`are those of the device: ${locale}, ${said.source}`, async () => {
      await using bench = await boot({ lastStart, ...(sku !== undefined && { sku }) });
      bench.screen.surround({ locale });
      act(bench);
      await eventually(() => said.test(labels(bench, id)), 'the words');
    });
});

it('the renderer of safe mode has every letter of them', async () => {
  await using target = await soft();
  const told = () => target.reports.flatMap(({ missingGlyphs }) => missingGlyphs);
  const letters = new Set(Object.values(LANGUAGES).flatMap((strings) => [...wordsOf(strings).join('')]));
  const show = async (text: string) => {
    await target.show([{ kind: 'text', w: 700, h: 600, text, role: 'caption' }]);
    await target.clock.advance(2_000);
  };
  await show([...letters].join(''));
  await show('Д');
  await show('again');
  assert.deepEqual(told(), ['Д']);
});

/** What it says, with letters for what is put in. */
function wordsOf(strings: unknown): readonly string[] {
  if (typeof strings === 'string') return [strings];
  if (typeof strings === 'function') return [String(strings(1, 'x'))];
  return Object.values(strings as object).flatMap(wordsOf);
}
