import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { nodesOf } from '@device-core/plugin-api/scene';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeDisplay, SURROUNDINGS } from '../../fixtures/fake-display.ts';
import { type Bench, boot, NOW, notification } from './fixture.ts';

after(leakCheck());

const says = ({ screen }: Bench) => screen.says('home');
const shows = (bench: Bench, title: string) => eventually(() => says(bench)[0] === title, `the screen ${title}`);
const has = (bench: Bench, line: string) =>
  eventually(() => says(bench).includes(line), `${line} in ${JSON.stringify(says(bench))}`);

suite('home', () => {
  test('shows time, date and character, and draws nothing while nothing changes', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    const nodes = [...nodesOf(bench.screen.surfaces.get('home')?.scene.nodes ?? [])];
    assert.deepEqual(
      nodes.flatMap((node) => (node.kind === 'text' && node.text.includes('{') ? node.text : [])),
      ['{time:h:mm}', '{date}'],
    );
    assert.ok(nodes.some(({ kind }) => kind === 'character'));
    assert.equal(bench.clock.pending, 0, 'no timer at home');
    const drawn = bench.screen.asked.length;
    bench.sound({});
    bench.screen.turn({ brightness: 1 });
    await bench.run('home.show', { screen: 'home' });
    assert.deepEqual(
      bench.screen.asked.slice(drawn).filter((line) => line.startsWith('put')),
      [],
    );
  });

  test('the newest notification stands on it, and the list is behind it', async () => {
    await using bench = await boot();
    bench.notify([notification(), notification({ id: 'n2', state: 'dismissed', text: 'gone' })]);
    await has(bench, '[Agenda, Dentist at half past eight]');
    bench.tap('go.notifications');
    await shows(bench, 'Notifications');
    assert.ok(!says(bench).join().includes('gone'));
    bench.tap('note.0');
    await eventually(() => bench.asked.includes('dismiss n1'), 'its end');
    await eventually(() => bench.screen.asked.includes('open com.example.agenda'), 'its app');
  });

  test('a page comes from the tile that was touched, and goes back to where it came from', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.tap('go.settings');
    await shows(bench, 'Settings');
    const scene = bench.screen.surfaces.get('home')?.scene;
    const start = (property: string) =>
      scene?.timelines?.find((line) => line.node === 'page' && line.property === property)?.from ?? 0;
    assert.ok(start('x') > 200 && start('y') > 200, 'from the corner at the bottom');
    bench.tap('go.sound');
    await shows(bench, 'Sound');
    bench.screen.touch('home', { phase: 'swipe', direction: 'right' });
    await shows(bench, 'Settings');
    bench.tap('back');
    await shows(bench, 'Home');
    assert.equal(bench.clock.pending, 0);
  });

  test('networks in reach are listed, joined without a passphrase, and forgotten', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.tap('go.settings');
    await shows(bench, 'Settings');
    bench.tap('go.network');
    await has(bench, '[Workshop, Connected]');
    await has(bench, '[Café {next} door, Open]');
    await has(bench, "[Bob's, Protected]");
    bench.tap('wifi.1');
    await shows(bench, 'Café {next} door');
    await has(bench, '[Join]');
    bench.slow = promise;
    bench.tap('do.join');
    await eventually(() => says(bench).join().includes('Joining'), 'that it is joined');
    bench.tap('do.join');
    bench.tap('do.forget');
    resolve();
    await eventually(() => says(bench).join().includes('Connected'), 'that it is connected');
    assert.ok(!says(bench).includes('[Join]'));
    bench.tap('do.forget');
    await has(bench, '[Join]');
    assert.deepEqual(bench.asked, ['join Café {next} door', 'forget Café {next} door']);
    bench.tap('back');
    await has(bench, '[Workshop, Known]');
  });

  test('a network with a passphrase names the operator, and a failure is said with its code', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.tap('go.network');
    await has(bench, "[Bob's, Protected]");
    bench.tap('wifi.2');
    await shows(bench, "Bob's");
    assert.match(says(bench).join(), /passphrase.*: devicectl network join 'Bob'\\''s'/);
    assert.ok(!says(bench).includes('[Join]') && !says(bench).join().includes('Forget'));
    bench.tap('back');
    await shows(bench, 'Network');
    bench.tap('wifi.3');
    await shows(bench, 'Office');
    assert.match(says(bench).join(), /a name or a certificate/);
    bench.tap('back');
    await shows(bench, 'Network');
    bench.tap('wifi.0');
    await shows(bench, 'Workshop');
    bench.refuses = true;
    bench.tap('do.forget');
    await has(bench, 'NETWORK_REFUSED');
    await shows(bench, 'Workshop did not work');
    bench.tap('back');
    await shows(bench, 'Workshop');
    bench.tap('back');
    bench.tap('back');
    await shows(bench, 'Home');
    bench.air = [];
    bench.tap('go.network');
    await eventually(() => !says(bench).join().includes('Workshop'), 'the empty air');
  });

  test('a panel that anybody touches neither lists nor changes networks', async () => {
    await using bench = await boot({ config: { wifi: false } });
    await shows(bench, 'Home');
    bench.tap('go.network');
    await shows(bench, 'Network');
    bench.tap('wifi.0');
    bench.tap('do.join');
    bench.tap('do.forget');
    await bench.host.settle();
    assert.ok(!says(bench).join().includes('Workshop'));
    assert.deepEqual(bench.asked, []);
  });

  test('the key home leads home from however deep', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.tap('go.settings');
    await shows(bench, 'Settings');
    bench.tap('go.sound');
    await shows(bench, 'Sound');
    bench.screen.touch('home', { phase: 'key', key: 'home' });
    await shows(bench, 'Home');
    assert.equal(bench.clock.pending, 0);
  });

  test('swipes lead to apps and notifications', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.screen.touch('home', { phase: 'swipe', direction: 'up' });
    await shows(bench, 'Apps');
    bench.tap('back');
    await shows(bench, 'Home');
    bench.screen.touch('home', { phase: 'swipe', direction: 'down' });
    await shows(bench, 'Notifications');
  });

  test('an app is opened from the launcher, and started where it does not run', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.tap('go.apps');
    await has(bench, '[Radio]');
    bench.tap('app.1');
    await eventually(() => bench.screen.asked.includes('open com.example.radio'), 'its opening');
    assert.deepEqual(bench.asked, ['start com.example.radio']);
    bench.screen.turn({ app: 'com.example.radio' });
    await shows(bench, 'Home');
  });

  for (const [screen, tap, deed] of [
    ['sound', 'do.louder', 'volume 0.5'],
    ['sound', 'do.quieter', 'volume 0.3'],
    ['look', 'theme.day', 'set display.theme "day"'],
    ['look', 'theme.auto', 'set display.theme "auto"'],
    ['look', 'text.150', 'set display.textScale 1.5'],
    ['look', 'do.motion', 'set display.reducedMotion true'],
    ['privacy', 'do.microphone', 'mute true'],
    ['privacy', 'do.local', 'set voice.localOnly true'],
  ] as const)
    test(`${tap} of ${screen} has its effect: ${deed}`, async () => {
      await using bench = await boot();
      await bench.run('home.show', { screen });
      assert.ok(bench.screen.taps('home').includes(tap) || bench.screen.taps('home').includes('card.page.1'));
      bench.tap(tap);
      await eventually(() => bench.asked.includes(deed), deed);
    });

  test('changes are seen at once: volume, microphone, and the choice', async () => {
    await using bench = await boot();
    await bench.run('home.show', { screen: 'sound' });
    bench.tap('do.louder');
    await has(bench, '50%');
    await bench.run('home.show', { screen: 'privacy' });
    await has(bench, '[Microphone, Listening for the wake phrase]');
    bench.tap('do.microphone');
    await has(bench, '[Microphone, The device hears nothing]');
  });

  test('departures are told with receiver, purpose and size', async () => {
    await using bench = await boot();
    await bench.run('home.show', { screen: 'departures' });
    await eventually(() => says(bench).some((line) => line.includes('speech.example:443')), 'the departure');
    assert.ok(bench.screen.texts('home').includes('48.2 kB'));
  });

  test('a setting that cannot be kept is told with its code, and a touch leads back', async () => {
    await using bench = await boot();
    await bench.run('home.show', { screen: 'look' });
    bench.refuses = true;
    bench.tap('theme.day');
    await shows(bench, 'The setting was not saved');
    assert.ok(bench.screen.texts('home').includes('INTERNAL'));
    bench.tap('back');
    await shows(bench, 'Display');
  });

  test('a plugin that failed is told on home until it is well again', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.host.publish('plugin.state', { plugin: 'nfc', state: 'failed', reason: 'no chip' });
    await has(bench, '[nfc has stopped]');
    bench.host.publish('plugin.state', { plugin: 'i2c', state: 'failed', reason: 'stuck' });
    await has(bench, '[2 parts have stopped]');
    bench.tap('go.problem');
    await shows(bench, '2 parts have stopped');
    await has(bench, 'nfc, i2c. The rest of the device goes on. It is tried again; an operator sees the reason.');
    bench.host.publish('plugin.state', { plugin: 'nfc', state: 'active' });
    await shows(bench, 'i2c has stopped');
    bench.host.publish('plugin.state', { plugin: 'i2c', state: 'active' });
    bench.tap('back');
    await has(bench, '[Nothing new]');
  });

  test('a problem that was hidden comes with another fault again, not with another try', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    const turns = (plugin: string, ...states: readonly string[]) => {
      for (const state of states) bench.host.publish('plugin.state', { plugin, state, reason: 'x' });
    };
    turns('nfc', 'failed');
    await has(bench, '[nfc has stopped]');
    bench.tap('go.problem');
    await shows(bench, 'nfc has stopped');
    bench.tap('problem.hide');
    await shows(bench, 'Home');
    await has(bench, '[Nothing new]');
    turns('nfc', 'starting', 'failed', 'quarantined');
    turns('i2c', 'failed');
    await has(bench, '[i2c has stopped]');
    turns('i2c', 'active');
    await has(bench, '[Nothing new]');
    turns('nfc', 'active', 'failed');
    await has(bench, '[nfc has stopped]');
    // What a touch could not do has nothing to hide.
    bench.refuses = true;
    await bench.run('home.show', { screen: 'look' });
    bench.tap('theme.day');
    await shows(bench, 'The setting was not saved');
    assert.equal(bench.screen.taps('home').includes('problem.hide'), false);
  });

  test('an app that went leaves the launcher and what can be said, and what a touch could not do is over with its screen', async () => {
    await using bench = await boot();
    await bench.run('home.show', { screen: 'apps' });
    await has(bench, '[Radio]');
    await eventually(() => bench.said('home.open.en'), 'the apps can be opened by voice');
    bench.host.publish('plugin.state', { plugin: 'nfc', state: 'failed', reason: 'no chip' });
    // Touched in the moment in which it goes.
    bench.gone('com.example.radio');
    bench.tap('app.1');
    await shows(bench, 'Radio has stopped');
    bench.apps([['com.example.agenda', 'Agenda']]);
    bench.tap('back');
    await shows(bench, 'Apps');
    await eventually(() => !bench.screen.says('home').includes('[Radio]'), 'it leaves the launcher');
    await eventually(() => bench.said('home.open.en') === 'agenda', 'it leaves what can be said');
    bench.tap('back');
    await has(bench, '[nfc has stopped]');
  });

  const FIVE = { id: 't1', at: NOW + 300_000, seconds: 300 };

  test('a timer counts on home by itself until it rang', async () => {
    await using bench = await boot();
    bench.timers({ running: [FIVE] });
    await eventually(() => bench.screen.texts('home').includes(`{countdown:${NOW + 300_000}}`), 'the timer');
    await bench.run('home.show', { screen: 'timers' });
    await shows(bench, 'Timers');
    await has(bench, '[Stop the timer of 5 minutes]');
    bench.tap('timer.t1');
    await eventually(() => bench.asked.includes('cancel t1'), 'its end');
    bench.timers({ running: [] });
    await eventually(() => !bench.screen.texts('home').some((text) => text.includes('countdown')), 'its end');
  });

  test('a home that starts anew asks for the timers and the notifications that are there', async () => {
    await using bench = await boot({ timers: { running: [FIVE], ringing: [] }, notifications: [notification()] });
    await eventually(() => bench.screen.texts('home').includes(`{countdown:${NOW + 300_000}}`), 'the timer');
    await eventually(() => bench.screen.says('home').some((line) => line.includes('Dentist')), 'the notification');
  });

  test('a timer that rings has a face above all others, which ends it or gives it a minute more', async () => {
    await using bench = await boot();
    const rang = { ...FIVE, at: NOW };
    for (const [tap, asked] of [
      ['ring.stop', ['silence']],
      ['ring.more', ['silence', 'timer 60']],
    ] as const) {
      bench.asked.length = 0;
      bench.timers({ running: [], ringing: [rang] });
      await eventually(() => bench.screen.says('ringing').includes('[Stop]'), 'its face');
      assert.ok(bench.screen.asked.includes('wake timer'));
      const { surface } = bench.screen.surfaces.get('ringing')!;
      assert.deepEqual([surface.layer, surface.modal], ['voice', true]);
      assert.ok(bench.screen.texts('ringing').includes('5 minutes'));
      assert.ok(bench.screen.texts('ringing').includes(`{elapsed:${NOW}}`));
      bench.timers({ ringing: [rang, { id: 't2', at: NOW + 1_000, seconds: 600 }] });
      await eventually(() => bench.screen.texts('ringing').includes('5 minutes · 10 minutes'), 'the second');
      bench.screen.touch('ringing', { phase: 'tap', tap });
      await eventually(() => bench.asked.length === asked.length, 'what was touched');
      assert.deepEqual(bench.asked, asked);
      bench.timers({ ringing: [] });
      await eventually(() => !bench.screen.surfaces.has('ringing'), 'the end of its face');
    }
    const { length } = bench.screen.asked;
    bench.sound({ volume: 0.2 });
    assert.ok(
      !bench.screen.asked.slice(length).some((one) => one.includes('ringing')),
      'nothing is drawn of it at rest',
    );
  });

  test('the next alarm stands on home, the list removes it, and one that rings is put off or ended by touch', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    const next = NOW + 12 * 3_600_000;
    bench.alarms({ alarms: [{ id: 'a1', kind: 'reminder', time: '07:41', text: 'Tea {x}', on: true, next }] });
    await eventually(() => says(bench).some((line) => /Mon 7:41.AM · Tea/.test(line)), 'the alarm');
    bench.tap('go.timers');
    await shows(bench, 'Timers');
    await eventually(() => says(bench).some((line) => /Remove Mon · Tea \{x\} 7:41.AM/.test(line)), 'its row');
    bench.tap('alarm.a1');
    await eventually(() => bench.asked.includes('cancel alarm a1'), 'its end');
    for (const [tap, asked] of [
      ['ring.snooze', 'snooze'],
      ['ring.stop', 'silence alarms'],
    ] as const) {
      bench.asked.length = 0;
      bench.alarms({ alarms: [], ringing: [{ id: 'a1', kind: 'reminder', at: NOW, text: 'Tea {x}' }] });
      await eventually(() => bench.screen.says('ringing').includes('[Stop]'), 'its face');
      const texts = bench.screen.texts('ringing');
      for (const text of ['Reminder', 'Snooze', '{time:h:mm}'])
        assert.ok(texts.includes(text), `${text}: ${texts.join()}`);
      bench.screen.touch('ringing', { phase: 'tap', tap });
      await eventually(() => bench.asked.length > 0, 'what was touched');
      assert.deepEqual(bench.asked, [asked]);
      bench.alarms({ ringing: [] });
      await eventually(() => !bench.screen.surfaces.has('ringing'), 'the end of its face');
    }
  });

  test('after a while without a touch it is home again', async () => {
    await using bench = await boot({ config: { idleMs: 30_000 } });
    await bench.run('home.show', { screen: 'about' });
    await shows(bench, 'About');
    bench.screen.touch('home', { phase: 'long-press' });
    await bench.clock.advance(29_000);
    await shows(bench, 'About');
    await bench.clock.advance(2_000);
    await shows(bench, 'Home');
  });

  test('each screen can be said, in each language, and an app by its title', async () => {
    await using bench = await boot();
    assert.deepEqual(await bench.say('home.notifications.en'), { say: 'Notifications' });
    await shows(bench, 'Notifications');
    assert.ok(bench.screen.asked.includes('wake voice'));
    assert.deepEqual(await bench.say('home.settings.de'), { say: 'Einstellungen' });
    await shows(bench, 'Settings');
    await eventually(() => bench.say('home.open.fr', { app: 'com.example.agenda' }).catch(() => undefined), 'the app');
    assert.ok(bench.screen.asked.includes('open com.example.agenda'));
  });

  test('without a renderer nothing is wrong with it: it is drawn when there is one', async () => {
    await using bench = await boot();
    await shows(bench, 'Home');
    bench.screen.refuses = 'there is no renderer yet';
    const { length } = bench.screen.asked;
    bench.screen.surround({ locale: 'fr' });
    await eventually(() => bench.screen.asked.length > length, 'it tries');
    await shows(bench, 'Home');
    bench.screen.refuses = undefined;
    bench.screen.turn({ renderer: 'skia' });
    await shows(bench, 'Accueil');
    assert.deepEqual(
      bench.host.logged.filter(({ level }) => level === 'warn' || level === 'error'),
      [],
    );
  });

  test('a code to scan is shown when an operator asks, and goes by itself', async () => {
    await using bench = await boot();
    await bench.run('home.pair', { url: 'http://127.0.0.1:55280/ui/#code=ABCD-EFGH', ms: 60_000 });
    await shows(bench, 'Connect a browser');
    const code = [...nodesOf(bench.screen.surfaces.get('home')?.scene.nodes ?? [])].filter(
      (node) => node.kind === 'path' && node.stroke === '#000000',
    );
    assert.equal(code.length, 1, 'one path');
    assert.equal(bench.screen.surfaces.get('home')?.surface.sensitive, true, 'for nobody who watches from afar');
    await bench.clock.advance(60_000);
    await shows(bench, 'Home');
    assert.equal(bench.screen.surfaces.get('home')?.surface.sensitive, false);
  });

  test('speaks the language of the surroundings, mirrored where it runs to the left', async () => {
    const screen = new FakeDisplay();
    screen.surroundings = { ...SURROUNDINGS, locale: 'de-DE' };
    await using bench = await boot({ screen });
    await shows(bench, 'Start');
    screen.surround({ locale: 'fr' });
    await shows(bench, 'Accueil');
    const gear = () =>
      [...nodesOf(screen.surfaces.get('home')?.scene.nodes ?? [])].find(({ tap }) => tap === 'go.settings')?.x ?? 0;
    const right = gear();
    screen.surround({ locale: 'ar' });
    await eventually(() => gear() === 720 - right - 88, 'the mirror');
  });
});
