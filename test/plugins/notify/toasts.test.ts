/** Toasts: what is shown, in which order, for how long, and what becomes of those that are too many. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { display } from '@device-core/plugin-api/services/display';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { AGENDA, type Bench, boot, EAR } from './fixture.ts';

after(leakCheck());

const toast = (text: string, more: object = {}) => ({ text, level: 'info', ...more });
/** What the toast that is there says below the title. */
const shown = ({ screen }: Bench) => screen.texts('toast').at(-1);
/** Coming, going, and the next. */
const CHANGE = 400;

describe('a toast', () => {
  it('has the real title of its app, is there for 3 s, and nothing is scheduled after it', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('Dentist at ten'));
    await clock.advance(0);
    assert.deepEqual(bench.screen.texts('toast').slice(-2), ['Agenda', 'Dentist at ten']);
    assert.match(bench.screen.says('toast').join(), /^\[.*Agenda.*Dentist at ten.*\]$/);
    await clock.advance(2_900);
    assert.equal(shown(bench), 'Dentist at ten');
    await clock.advance(CHANGE);
    assert.deepEqual([...bench.screen.surfaces.keys()], []);
    assert.equal(clock.pending, 0);
    assert.deepEqual(
      (await bench.list()).map(({ app, title, state, count }) => [app, title, state, count]),
      [[AGENDA, 'Agenda', 'shown', 1]],
    );
  });

  const TIMES: readonly (readonly [asked: number, shown: number])[] = [
    [1, 1_000],
    [5_000, 5_000],
    [3_600_000, 10_000],
  ];
  for (const [asked, ms] of TIMES)
    it(`that asks for ${asked} ms is there for ${ms} ms`, async () => {
      const clock = virtualClock({ turns: 2 });
      await using bench = await boot({ clock });
      bench.publish(AGENDA, 'ui.toast', toast('a', { durationMs: asked }));
      await clock.advance(ms - 10);
      assert.equal(shown(bench), 'a');
      await clock.advance(CHANGE);
      assert.equal(shown(bench), undefined);
    });

  const WORDS: Readonly<Record<string, readonly [text: string, seen: string]>> = {
    'that turns its direction is shown isolated': ['safe \u202egpj.exe', 'safe gpj.exe'],
    'with a binding shows its letters': ['{time:HH:mm} {{', '{{time:HH:mm} {{{{'],
    'with half a letter shows a mark': ['a\ud83d', 'a\ufffd'],
    'with a tower of marks shows four of them': [`a${'\u0316'.repeat(900)}`, `a${'\u0316'.repeat(4)}`],
    'with lines and controls is one paragraph': ['one\ntwo\u0007\tthree', 'one two three'],
  };
  for (const [title, [text, seen]] of Object.entries(WORDS))
    it(`${title}`, async () => {
      const clock = virtualClock({ turns: 2 });
      await using bench = await boot({ clock });
      bench.publish(AGENDA, 'ui.toast', toast(text));
      await clock.advance(10);
      assert.equal(shown(bench), seen);
      await clock.advance(5_000);
    });

  it('of an unknown app is called by its id, one of the Core by the name of the device', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock, config: { title: 'Lamp' } });
    bench.publish('com.example.new', 'ui.toast', toast('a', { title: 'System' }));
    await clock.advance(10);
    assert.equal(bench.screen.texts('toast').at(-2), 'com.example.new');
    bench.publish(undefined, 'ui.toast', toast('b', { level: 'error' }));
    await clock.advance(CHANGE);
    assert.deepEqual(bench.screen.texts('toast'), ['Lamp', 'b']);
    await clock.advance(9_000);
  });

  it('goes with a tap; the next one comes', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('a'));
    bench.publish(AGENDA, 'ui.toast', toast('b'));
    await clock.advance(10);
    bench.screen.touch('toast', { tap: 'dismiss' });
    await clock.advance(CHANGE);
    assert.equal(shown(bench), 'b');
    assert.deepEqual(
      (await bench.list()).map(({ text, state }) => `${text} ${state}`),
      ['b showing', 'a dismissed'],
    );
    await clock.advance(4_000);
  });

  it('is drawn again when the text scale changes, at its place and without coming again', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('a'));
    await clock.advance(200);
    const before = bench.screen.surfaces.get('toast')?.surface.box?.h ?? 0;
    bench.screen.surround({ textScale: 2 });
    await clock.advance(200);
    const after = bench.screen.surfaces.get('toast');
    assert.ok((after?.surface.box?.h ?? 0) > before);
    assert.equal(after?.scene.timelines, undefined);
    await clock.advance(4_000);
  });

  it('leaves the buttons of an app free: at the top over an app, at the bottom else and below a banner', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    const top = () => (bench.screen.surfaces.get('toast')?.surface.box?.y ?? 720) < 100;
    bench.publish(AGENDA, 'ui.toast', toast('a'));
    await clock.advance(1_000);
    assert.equal(top(), false);
    // The app comes to the front below the toast: it moves, and has no longer time for that.
    bench.screen.turn({ app: AGENDA });
    await clock.advance(200);
    assert.equal(top(), true);
    assert.equal(bench.screen.surfaces.get('toast')?.scene.timelines, undefined);
    await clock.advance(2_100);
    assert.equal(bench.screen.surfaces.has('toast'), false);
    bench.publish(AGENDA, 'ui.toast', toast('b'));
    await clock.advance(200);
    assert.equal(top(), true);
    await clock.advance(4_000);
    bench.publish(EAR, 'ui.banner', { action: 'show', id: 'x', text: 'c', level: 'info' });
    await clock.advance(200);
    bench.publish(AGENDA, 'ui.toast', toast('d'));
    await clock.advance(200);
    assert.equal(top(), false);
    await clock.advance(4_000);
  });

  it('is mirrored where lines run from the right', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.screen.surround({ locale: 'ar' });
    bench.publish(AGENDA, 'ui.toast', toast('a'));
    await clock.advance(10);
    const letter = () => bench.screen.nodes('toast').find(({ kind, w }) => kind === 'group' && w === 80)?.x ?? 0;
    assert.ok(letter() > 360, `${letter()}`);
    await clock.advance(4_000);
  });
});

describe('the queue', () => {
  it('shows the most urgent first; an error interrupts an info, which is shown again as it was hardly seen', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    const seen: unknown[] = [];
    bench.publish(AGENDA, 'ui.toast', toast('i'));
    await clock.advance(200);
    for (const level of ['success', 'warn', 'error']) bench.publish(EAR, 'ui.toast', toast(level, { level }));
    for (let step = 0; step < 8; step += 1) {
      await clock.advance(CHANGE + 1_300);
      if (seen.at(-1) !== shown(bench)) seen.push(shown(bench));
    }
    assert.deepEqual(seen.slice(0, 4), ['error', 'warn', 'success', 'i']);
    await clock.advance(9_000);
    assert.equal(shown(bench), undefined);
  });

  it('makes equal texts of one app within 5 s one with a count', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    for (let time = 0; time < 3; time += 1) {
      bench.publish(AGENDA, 'ui.toast', toast('again'));
      await clock.advance(200);
    }
    bench.publish(EAR, 'ui.toast', toast('again'));
    await clock.advance(200);
    assert.ok(bench.screen.texts('toast').includes('×3'), bench.screen.texts('toast').join());
    assert.deepEqual(
      (await bench.list()).map(({ app, count }) => [app, count]),
      [
        [EAR, 1],
        [AGENDA, 3],
      ],
    );
    await clock.advance(8_000);
    bench.publish(AGENDA, 'ui.toast', toast('again'));
    await clock.advance(200);
    assert.equal((await bench.list()).length, 3);
    await clock.advance(4_000);
  });

  it('replaces a toast by one of the same name', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('1 of 2', { id: 'sync' }));
    await clock.advance(200);
    bench.publish(AGENDA, 'ui.toast', toast('2 of 2', { id: 'sync' }));
    await clock.advance(200);
    assert.equal(shown(bench), '2 of 2');
    assert.equal((await bench.list()).length, 1);
    await clock.advance(4_000);
  });

  it('keeps five of an app; the sixth replaces the oldest, and the app is told', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('shown'));
    await clock.advance(10);
    for (let number = 1; number <= 6; number += 1) bench.publish(AGENDA, 'ui.toast', toast(`${number}`));
    await clock.advance(10);
    assert.deepEqual(bench.told, [[AGENDA, 'ui.dropped', { count: 1, full: 1, late: 0 }]]);
    const { notifications } = (await bench.run('notify.list')) as { notifications: { text: string; state: string }[] };
    assert.deepEqual(
      notifications.filter(({ state }) => state === 'dropped').map(({ text }) => text),
      ['1'],
    );
    await clock.advance(30_000);
  });

  it('does not show what has waited for more than 15 s, and tells its app', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    for (const text of ['a', 'b']) bench.publish(AGENDA, 'ui.toast', toast(text, { durationMs: 10_000 }));
    bench.publish(EAR, 'ui.toast', toast('late'));
    await clock.advance(30_000);
    assert.deepEqual(bench.told, [[EAR, 'ui.dropped', { count: 1, full: 0, late: 1 }]]);
    assert.deepEqual(
      (await bench.list()).map(({ text, state }) => `${text} ${state}`),
      ['late dropped', 'b shown', 'a shown'],
    );
  });

  it('of 10,000 toasts of one app keeps what it may, tells once a second, and shows another app in its turn', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('first'));
    for (let number = 0; number < 10_000; number += 1) {
      bench.publish(AGENDA, 'ui.toast', toast(`flood ${number}`));
      if (number === 5_000) bench.publish(EAR, 'ui.toast', toast('from the ear'));
      if (number % 100 === 0) await clock.advance(0);
    }
    const puts = () => bench.screen.asked.filter((what) => what.startsWith('put')).length;
    assert.ok(puts() <= 2, `${puts()}`);
    assert.ok((await bench.list()).length <= 200);
    await clock.advance(3_500);
    assert.equal(shown(bench), 'from the ear');
    const dropped = bench.told.filter(([app, method]) => app === AGENDA && method === 'ui.dropped');
    assert.ok(dropped.length <= 5, `${dropped.length}`);
    const count = dropped.reduce((sum, [, , params]) => sum + (params as { count: number }).count, 0);
    assert.ok(count >= 9_990, `${count}`);
    assert.deepEqual(
      bench.told.filter(([app]) => app !== AGENDA),
      [],
    );
    await clock.advance(40_000);
    assert.equal(clock.pending, 0);
  });
});

describe('nothing is lost', () => {
  it('during a turn of speech: what was hardly seen comes again, what came meanwhile follows', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.toast', toast('before'));
    await clock.advance(300);
    bench.host.publish('audio.state', { state: 'listening' });
    await clock.advance(1_000);
    assert.equal(shown(bench), undefined);
    bench.publish(EAR, 'ui.toast', toast('meanwhile'));
    await clock.advance(60_000);
    assert.equal(clock.pending, 0, 'nothing is scheduled while nothing shows');
    bench.host.publish('audio.state', { state: 'idle' });
    await clock.advance(200);
    assert.equal(shown(bench), 'before');
    await clock.advance(3_000 + CHANGE);
    assert.equal(shown(bench), 'meanwhile');
    await clock.advance(4_000);
  });

  it('below a question', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.questions.push({ id: 'q' } as never);
    bench.host.publish('prompt.state', { state: 'open' });
    await clock.advance(10);
    bench.publish(AGENDA, 'ui.toast', toast('a'));
    await clock.advance(60_000);
    assert.equal(shown(bench), undefined);
    bench.questions.pop();
    bench.host.publish('prompt.state', { state: 'answered' });
    await clock.advance(200);
    assert.equal(shown(bench), 'a');
    await clock.advance(4_000);
  });

  it('but on a dark panel: a person who comes back sees the new ones, and the list has the rest', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.screen.turn({ power: 'off' });
    bench.publish(AGENDA, 'ui.toast', toast('old'));
    await clock.advance(60_000);
    assert.equal(clock.pending, 0);
    bench.publish(AGENDA, 'ui.toast', toast('new'));
    bench.screen.turn({ power: 'on' });
    await clock.advance(200);
    assert.equal(shown(bench), 'new');
    assert.deepEqual(
      (await bench.list()).map(({ text, state }) => `${text} ${state}`),
      ['new showing', 'old dropped'],
    );
    await clock.advance(4_000);
  });

  it('and a screen that refuses to draw holds nothing up', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.screen.refuses = 'it is gone';
    bench.publish(AGENDA, 'ui.toast', toast('a'));
    bench.publish(AGENDA, 'ui.toast', toast('b'));
    await clock.advance(100);
    bench.screen.refuses = undefined;
    bench.publish(AGENDA, 'ui.toast', toast('c'));
    await clock.advance(100);
    assert.equal(shown(bench), 'c');
    await clock.advance(4_000);
  });
});

it('works wherever the plugin runs', async () => {
  await using bench = await boot();
  bench.publish(AGENDA, 'ui.toast', toast('hello'));
  await eventually(() => shown(bench) === 'hello', 'the toast');
  assert.ok(bench.host.service(display));
});

describe('a display that starts again', () => {
  it('finds the list, the banner that is not dismissed, and the unseen toasts', async () => {
    const clock = virtualClock({ turns: 2 });
    await using bench = await boot({ clock });
    bench.publish(AGENDA, 'ui.banner', { text: 'Loading', level: 'info', action: 'show', id: 'load' });
    bench.publish(AGENDA, 'ui.toast', toast('Seen', { durationMs: 1_000 }));
    await clock.advance(3_000);
    await bench.host.disappear(display);
    bench.screen.surfaces.clear();
    bench.publish(EAR, 'ui.toast', toast('While it is away'));
    // Longer than a toast stays fresh: without a screen its time stands still.
    await clock.advance(60_000);
    const states = async () => (await bench.list()).map(({ text, state }) => [text, state]);
    assert.deepEqual(await states(), [
      ['While it is away', 'waiting'],
      ['Seen', 'shown'],
      ['Loading', 'waiting'],
    ]);
    await bench.host.appear(display, bench.screen.service);
    await clock.advance(600);
    assert.equal(shown(bench), 'While it is away');
    assert.ok(bench.screen.texts('banner').includes('Loading'));
    await clock.advance(4_000);
    assert.deepEqual(await states(), [
      ['While it is away', 'shown'],
      ['Seen', 'shown'],
      ['Loading', 'showing'],
    ]);
    assert.deepEqual(
      bench.host.logged.filter(({ level }) => level === 'error'),
      [],
    );
  });
});
