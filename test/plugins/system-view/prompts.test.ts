/** Questions on the panel: what they say, when they take touch, and what an answer becomes. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, type VirtualClock, virtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { AGENDA, type Bench, boot, item, question } from './fixture.ts';

after(leakCheck());

async function bench(): Promise<Bench & { readonly clock: VirtualClock }> {
  const clock = virtualClock({ turns: 3 });
  return Object.assign(await boot({ clock }), { clock });
}
const texts = ({ screen }: Bench) => screen.texts('prompt');
const said = (it: Bench) => texts(it).join(' | ');

describe('a question', () => {
  it('says who asks, by its real title, id and signer; what, in the words of the device; why, as the words of the app', async () => {
    await using it = await bench();
    it.ask(
      question('a', {
        what: [
          item('network.outbound:api.example', {
            ...{ summary: 'reach one host', reason: 'the “Core” says: it is safe', params: { ports: [443, 8443] } },
          }),
        ],
      }),
    );
    await it.clock.advance(10);
    assert.deepEqual(texts(it), [
      ...['Agenda', 'A', 'asks for your permission until 12:10 AM', AGENDA, '1.2.0 · signed by Example Ltd'],
      ...['Reach one host', 'api.example, ports 443, 8443', 'The app says: “the ’Core’ says: it is safe”'],
      ...['Refuse', 'Allow'],
    ]);
    const { surface } = it.screen.surfaces.get('prompt') ?? {};
    assert.deepEqual([surface?.layer, surface?.modal], ['prompt', true]);
    assert.ok(it.screen.asked.includes('wake prompt'));
    await it.clock.advance(1_000);
  });

  it('takes no touch and no key for 700 ms, and then 88 units each', async () => {
    await using it = await bench();
    it.ask(question('a'));
    await it.clock.advance(650);
    assert.deepEqual(it.screen.taps('prompt'), []);
    it.screen.touch('prompt', { tap: 'yes' });
    it.screen.touch('prompt', { phase: 'key', key: 'ok' });
    await it.clock.advance(0);
    assert.deepEqual(it.answers, []);
    await it.clock.advance(100);
    assert.deepEqual(it.screen.taps('prompt'), ['item.1', 'no', 'yes']);
    const buttons = it.screen.nodes('prompt').filter(({ tap }) => tap === 'yes' || tap === 'no');
    assert.deepEqual(
      buttons.map(({ h, w }) => h === 88 && (w ?? 0) >= 88),
      [true, true],
    );
  });

  const ANSWERS: readonly (readonly [title: string, act: readonly object[], allow: readonly string[]])[] = [
    ['Allow allows all of it', [{ tap: 'yes' }], ['audio.capture', 'sensors.nfc']],
    ['Refuse allows nothing', [{ tap: 'no' }], []],
    ['what was switched off is not allowed', [{ tap: 'item.1' }, { tap: 'yes' }], ['audio.capture']],
    [
      'what was switched off and on is',
      [{ tap: 'item.1' }, { tap: 'item.1' }, { tap: 'yes' }],
      ['audio.capture', 'sensors.nfc'],
    ],
    ['what has to be cannot be switched', [{ tap: 'item.0' }, { tap: 'yes' }], ['audio.capture', 'sensors.nfc']],
    ['key ok allows', [{ phase: 'key', key: 'ok' }], ['audio.capture', 'sensors.nfc']],
    ['key back refuses', [{ phase: 'key', key: 'back' }], []],
  ];
  for (const [title, acts, allow] of ANSWERS)
    it(`: ${title}`, async () => {
      await using it = await bench();
      it.ask(question('a'));
      await it.clock.advance(1_000);
      for (const act of acts) {
        it.screen.touch('prompt', act);
        await it.clock.advance(10);
      }
      assert.deepEqual(it.answers, [['a', allow]]);
      await it.clock.advance(10);
      assert.ok(!it.screen.surfaces.has('prompt'));
    });

  it('that is answered elsewhere, expires or is withdrawn goes away, and the next one comes with 700 ms of its own', async () => {
    await using it = await bench();
    it.ask(question('a'), question('b', { title: 'Ear', subject: 'com.example.ear' }));
    await it.clock.advance(1_000);
    assert.match(said(it), /Agenda/);
    it.settled('a');
    await it.clock.advance(10);
    assert.match(said(it), /Ear/);
    assert.deepEqual(it.screen.taps('prompt'), []);
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(600);
    assert.deepEqual(it.answers, []);
    it.settled('b');
    await it.clock.advance(2_000);
    assert.ok(!it.screen.surfaces.has('prompt'));
    assert.equal(it.clock.pending, 0);
  });

  it('that nobody answers is answered by nobody: the panel never says yes by itself', async () => {
    await using it = await bench();
    it.ask(question('a'));
    await it.clock.advance(3_600_000);
    assert.deepEqual(it.answers, []);
    assert.equal(it.clock.pending, 0);
  });

  it('with more than a page is read to its end before it can be allowed', async () => {
    await using it = await bench();
    const what = Array.from({ length: 6 }, (_, index) => item(`sensors.s${index}`));
    it.ask(question('a', { what }));
    await it.clock.advance(1_000);
    const seen = new Set<string>();
    for (let page = 0; page < 10 && !it.screen.taps('prompt').includes('yes'); page += 1) {
      assert.ok(it.screen.taps('prompt').includes('no'));
      for (const text of texts(it)) seen.add(text);
      it.screen.touch('prompt', { tap: 'yes' });
      it.screen.touch('prompt', { tap: 'more' });
      await it.clock.advance(1_000);
    }
    for (const text of texts(it)) seen.add(text);
    for (const { summary } of what) assert.ok(seen.has(`U${summary.slice(1)}`), summary);
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, [['a', what.map(({ capability }) => capability)]]);
  });

  it('without capabilities is a yes or a no', async () => {
    await using it = await bench();
    it.ask(question('a', { kind: 'confirm', what: [], title: 'Erase all data' }));
    await it.clock.advance(1_000);
    assert.match(said(it), /asks you to confirm.*Cancel \| Confirm/);
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, [['a', ['yes']]]);
  });

  it('of a page says what it wants to do, and is answered as a whole', async () => {
    await using it = await bench();
    const act = 'remove the app com.example.chime';
    it.ask(question('a', { kind: 'confirm', what: [], title: 'Firefox on Linux', subject: 'page.abc', act }));
    await it.clock.advance(1_000);
    assert.match(
      said(it),
      /Firefox on Linux.*asks you to confirm.*Remove the app com\.example\.chime.*Cancel \| Confirm/,
    );
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, [['a', ['yes']]]);
  });

  const TITLES: Readonly<Record<string, string>> = {
    'that turns its direction': 'Agenda\u202e gpj',
    'of 200 letters': 'W'.repeat(200),
    'with a binding': '{time:HH:mm}',
    'of 2,000 marks': `A${'\u0301'.repeat(199)}`,
    'of half letters': '\ud83d\ud83d',
    'of an emoji of many points': '👩‍👩‍👧‍👦'.repeat(10),
    'in Arabic': 'مدير المواعيد والتذكيرات الذكي لجميع أفراد العائلة',
    'that is nothing but blanks': '   ',
  };
  for (const [what, title] of Object.entries(TITLES))
    it(`about a title ${what} is a scene that the device takes, with its id below`, async () => {
      await using it = await bench();
      it.ask(question('a', { title }));
      await it.clock.advance(1_000);
      assert.match(said(it), /com\.example\.agenda/);
      assert.ok(it.screen.taps('prompt').includes('yes'));
    });

  it('fits at every text scale, and is mirrored for Arabic', async () => {
    await using it = await bench();
    it.ask(
      question('a', { what: Array.from({ length: 9 }, (_, n) => item(`sensors.s${n}`, { optional: n % 2 === 0 })) }),
    );
    for (const textScale of [1.25, 1.5, 2]) {
      it.screen.surround({ textScale });
      await it.clock.advance(1_000);
      assert.ok(it.screen.taps('prompt').includes('more'));
    }
    it.screen.surround({ locale: 'ar', textScale: 1 });
    await it.clock.advance(1_000);
    const [no, yes] = ['no', 'yes'].map((id) => it.screen.nodes('prompt').find((node) => node.id === id)?.x ?? 0);
    assert.ok((no ?? 0) > (yes ?? 0));
  });
});

it('a screen that cannot draw a question is asked again when something changes', async () => {
  await using it = await bench();
  it.screen.refuses = 'it is gone';
  it.ask(question('a'));
  await it.clock.advance(10);
  it.screen.refuses = undefined;
  it.screen.surround({});
  await it.clock.advance(1_000);
  assert.ok(it.screen.taps('prompt').includes('yes'));
});

it('works wherever the plugin runs', async () => {
  await using it = await boot();
  it.ask(question('a'));
  await eventually(() => it.screen.taps('prompt').includes('no'), 'buttons');
  it.screen.touch('prompt', { tap: 'no' });
  await eventually(() => it.answers.length === 1, 'the answer');
  assert.deepEqual(it.answers, [['a', []]]);
});
