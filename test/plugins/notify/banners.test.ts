/** Banners: one is shown, others take turns; buttons go to the app of the banner that was seen. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { AGENDA, type Bench, boot, EAR } from './fixture.ts';

after(leakCheck());

const BUTTONS = [
  { id: 'join', title: 'Join' },
  { id: 'later', title: 'Later' },
];
const show = (text: string, more: object = {}) => ({ action: 'show', text, level: 'info', id: text, ...more });
const words = ({ screen }: Bench) => screen.texts('banner').slice(1, 3);

async function bench(): Promise<Bench & { readonly clock: ReturnType<typeof virtualClock> }> {
  const clock = virtualClock({ turns: 2 });
  return Object.assign(await boot({ clock }), { clock });
}

describe('a banner', () => {
  it('stays until its app takes it away; its progress runs without coming again', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('sync', { progress: 0.1 }));
    await it.clock.advance(60_000);
    assert.deepEqual(words(it), ['Agenda', 'sync']);
    assert.equal(it.clock.pending, 0);
    it.publish(AGENDA, 'ui.banner', { action: 'update', id: 'sync', progress: 0.5, text: 'half' });
    await it.clock.advance(200);
    assert.deepEqual(words(it), ['Agenda', 'half']);
    const { timelines = [] } = it.screen.surfaces.get('banner')?.scene ?? {};
    assert.deepEqual(
      timelines.map(({ node, property }) => `${node} ${property}`),
      ['fill w'],
    );
    it.publish(AGENDA, 'ui.banner', { action: 'dismiss', id: 'sync' });
    await it.clock.advance(400);
    assert.equal(it.screen.surfaces.size, 0);
  });

  it('that changes 1,000 times in a second is drawn ten times', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('sync', { progress: 0 }));
    for (let step = 0; step < 1_000; step += 1) {
      it.publish(AGENDA, 'ui.banner', { action: 'update', id: 'sync', progress: step / 1_000 });
      await it.clock.advance(1);
    }
    const puts = it.screen.asked.filter((what) => what === 'put banner').length;
    assert.ok(puts <= 12, `${puts}`);
    await it.clock.advance(200);
    assert.ok(it.screen.says('banner').includes('100%'), it.screen.says('banner').join());
  });

  it('with a time goes after it, and not while it cannot be seen', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('a', { durationMs: 5_000 }));
    await it.clock.advance(3_000);
    it.host.publish('audio.state', { state: 'thinking' });
    await it.clock.advance(60_000);
    assert.equal(it.screen.surfaces.size, 0);
    it.host.publish('audio.state', { state: 'idle' });
    await it.clock.advance(1_500);
    assert.deepEqual(words(it), ['Agenda', 'a']);
    await it.clock.advance(1_500);
    assert.equal(it.screen.surfaces.size, 0);
    assert.equal((await it.list())[0]?.state, 'shown');
  });

  it('goes with its app', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('a'));
    it.publish(EAR, 'ui.banner', show('b'));
    await it.clock.advance(100);
    it.appState(AGENDA, 'stopped');
    await it.clock.advance(500);
    assert.deepEqual(words(it), ['Ear', 'b']);
  });

  it('says its buttons; a press goes to its app alone, opens it, and takes the banner away', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('meeting', { buttons: BUTTONS }));
    await it.clock.advance(1_000);
    assert.deepEqual(it.screen.taps('banner'), ['dismiss', 'press.1', 'press.0']);
    assert.match(it.screen.says('banner').join('|'), /Agenda.*meeting.*\[.*Later.*\|\[.*Join.*\]/);
    it.screen.touch('banner', { tap: 'press.1' });
    await it.clock.advance(500);
    assert.deepEqual(it.told, [[AGENDA, 'ui.action', { id: 'meeting', action: 'press', button: 'later' }]]);
    assert.ok(it.screen.asked.includes(`open ${AGENDA}`));
    assert.equal(it.screen.surfaces.size, 0);
  });

  it('that a finger takes away tells its app, and opens nothing', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('a'));
    await it.clock.advance(1_000);
    it.screen.touch('banner', { tap: 'dismiss' });
    await it.clock.advance(500);
    assert.deepEqual(it.told, [[AGENDA, 'ui.action', { id: 'a', action: 'dismiss' }]]);
    assert.ok(!it.screen.asked.some((what) => what.startsWith('open')));
  });

  it('that took the place of another one right under the finger is not pressed', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('mine', { buttons: BUTTONS }));
    await it.clock.advance(1_000);
    it.publish(EAR, 'ui.banner', show('other', { level: 'error', buttons: BUTTONS }));
    await it.clock.advance(300);
    assert.deepEqual(words(it), ['Ear', 'other']);
    it.screen.touch('banner', { tap: 'press.0' });
    await it.clock.advance(300);
    assert.deepEqual(it.told, []);
    await it.clock.advance(300);
    it.screen.touch('banner', { tap: 'press.0' });
    await it.clock.advance(300);
    assert.equal(it.told.length, 1);
  });
});

describe('several banners', () => {
  it('of one level take turns; a more urgent one goes first', async () => {
    await using it = await bench();
    const seen: string[] = [];
    it.publish(AGENDA, 'ui.banner', show('a'));
    it.publish(EAR, 'ui.banner', show('b'));
    for (let step = 0; step < 4; step += 1) {
      await it.clock.advance(10_200);
      seen.push(words(it)[1] ?? '');
    }
    assert.deepEqual(seen, ['b', 'a', 'b', 'a']);
    assert.match(words(it)[0] ?? '', /\+1$/);
    it.publish(EAR, 'ui.banner', show('c', { level: 'warn' }));
    await it.clock.advance(60_000);
    assert.equal(words(it)[1], 'c');
    assert.equal(it.clock.pending, 0);
  });

  it('of one app are three; one more replaces the oldest, and the app is told', async () => {
    await using it = await bench();
    for (const text of ['a', 'b', 'c', 'd']) it.publish(AGENDA, 'ui.banner', show(text));
    await it.clock.advance(500);
    assert.deepEqual(it.told, [[AGENDA, 'ui.dropped', { count: 1, full: 1, late: 0 }]]);
    assert.deepEqual(
      (await it.list()).map(({ text, state }) => `${text} ${state}`),
      ['d waiting', 'c waiting', 'b showing', 'a dropped'],
    );
    for (const text of ['b', 'c', 'd']) it.publish(AGENDA, 'ui.banner', { action: 'dismiss', id: text });
    await it.clock.advance(500);
  });

  it('of 100 apps take the place of none but their own', async () => {
    await using it = await bench();
    it.publish(AGENDA, 'ui.banner', show('first'));
    for (let number = 0; number < 100; number += 1) it.publish(`com.example.a${number}`, 'ui.banner', show('x'));
    await it.clock.advance(100);
    const alive = (await it.list()).filter(({ state }) => state === 'waiting' || state === 'showing');
    assert.equal(alive.length, 32);
    assert.ok(alive.some(({ app }) => app === AGENDA));
  });
});

it('of the Core for an app: it has the title of the app, opens it, and the app neither hears of it nor changes it', async () => {
  await using it = await bench();
  const offer = {
    ...show('has something to show'),
    app: AGENDA,
    id: 'display',
    buttons: [{ id: 'open', title: 'Open' }],
  };
  it.publish(undefined, 'ui.banner', offer);
  await it.clock.advance(1_000);
  assert.deepEqual(words(it), ['Agenda', 'has something to show']);
  it.publish(AGENDA, 'ui.banner', { action: 'dismiss', id: 'display' });
  await it.clock.advance(300);
  assert.deepEqual(words(it), ['Agenda', 'has something to show']);
  it.screen.touch('banner', { tap: 'press.0' });
  await it.clock.advance(300);
  assert.deepEqual(it.told, []);
  assert.ok(it.screen.asked.includes(`open ${AGENDA}`));
});

it('an app changes or takes away no banner of another app', async () => {
  await using it = await bench();
  it.publish(AGENDA, 'ui.banner', show('mine'));
  await it.clock.advance(100);
  it.publish(EAR, 'ui.banner', { action: 'update', id: 'mine', text: 'hers' });
  it.publish(EAR, 'ui.banner', { action: 'dismiss', id: 'mine' });
  await it.clock.advance(500);
  assert.deepEqual(words(it), ['Agenda', 'mine']);
});
