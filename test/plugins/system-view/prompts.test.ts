/** Questions on the panel: what they say, when they take touch, and what an answer becomes. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { CapabilityId } from '@device-core/plugin-api';
import { DEFAULT_POLICY, decide, itemOf } from '@device-core/plugin-api/inside/consent';
import { TYPE } from '@device-core/plugin-api/scene';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
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

function claim(id: string, ...ports: readonly number[]): AppManifest['capabilities'][number] {
  return { id: id as CapabilityId, reason: 'r', ...(ports.length > 0 ? { ports } : {}) };
}

/** Turns the pages to the last one; resolves with all texts in their order. */
async function readToEnd(it: Awaited<ReturnType<typeof bench>>): Promise<readonly string[]> {
  const seen: string[] = [...texts(it)];
  for (let page = 0; page < 400 && it.screen.taps('prompt').includes('more'); page += 1) {
    it.screen.touch('prompt', { tap: 'more' });
    await it.clock.advance(1_000);
    seen.push(...texts(it));
  }
  return seen;
}

describe('a question', () => {
  it('says who asks, by its real title, id and signer; what, in the words of the device; why, as the words of the app', async () => {
    await using it = await bench();
    it.ask(
      question('a', {
        what: [
          item('network.outbound:api.example', {
            summary: 'reach one host',
            reason: 'the “Core” says: it is safe',
            params: { ports: [443, 8443] },
          }),
        ],
      }),
    );
    await it.clock.advance(10);
    assert.deepEqual(texts(it), [
      ...['Agenda', 'A', 'wants permission · expires 12:10 AM', AGENDA, '1.2.0 · signed by Example Ltd'],
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
    ['Allow allows what is required, and nothing that is optional', [{ tap: 'yes' }], ['audio.capture']],
    ['Refuse allows nothing', [{ tap: 'no' }], []],
    ['what was switched on is allowed', [{ tap: 'item.1' }, { tap: 'yes' }], ['audio.capture', 'sensors.nfc']],
    ['what was switched on and off is not', [{ tap: 'item.1' }, { tap: 'item.1' }, { tap: 'yes' }], ['audio.capture']],
    ['what has to be cannot be switched', [{ tap: 'item.0' }, { tap: 'yes' }], ['audio.capture']],
    ['key ok allows', [{ phase: 'key', key: 'ok' }], ['audio.capture']],
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

  it('about optional rights alone takes no yes until something is switched on', async () => {
    await using it = await bench();
    it.ask(question('a', { what: [item('sensors.nfc', { optional: true })] }));
    await it.clock.advance(1_000);
    assert.deepEqual(it.screen.taps('prompt'), ['item.0', 'no']);
    it.screen.touch('prompt', { phase: 'key', key: 'ok' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, []);
    it.screen.touch('prompt', { tap: 'item.0' });
    await it.clock.advance(10);
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, [['a', ['sensors.nfc']]]);
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

  it('without an answer stays unanswered: the panel never says yes by itself', async () => {
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

  it('without a signer is called not signed', async () => {
    await using it = await bench();
    const { signer: _, ...unsigned } = question('a');
    it.ask(unsigned);
    await it.clock.advance(1_000);
    assert.match(said(it), /1\.2\.0 · not signed/);
  });

  const HOST = 'network.outbound:weather.house.example';
  const SENTENCES: readonly (readonly [
    locale: string,
    claim: AppManifest['capabilities'][number],
    sentence: string,
  ])[] = [
    ['en', claim(HOST, 41500), 'Connect to weather.house.example, port 41500, and to no other host'],
    ['de', claim(HOST, 41500), 'Sich mit weather.house.example, Port 41500 verbinden und mit keinem anderen Server'],
    ['fr', claim(HOST, 443, 41500), 'Se connecter à weather.house.example, ports 443, 41500 et à aucun autre serveur'],
    ['en', claim('bridges.spi:flash'), 'Use the SPI device “flash”'],
    ['de', claim('bridges.spi:flash'), 'Das SPI-Gerät „flash“ benutzen'],
    ['fr', claim('bridges.spi:flash'), 'Utiliser l’appareil SPI « flash »'],
    ['de-AT', claim('audio.capture'), 'Das Mikrofon hören'],
    ['nl', claim('sensors.climate'), 'Read the sensor “climate”'],
  ];
  for (const [locale, asked, sentence] of SENTENCES)
    it(`about ${asked.id} says in ${locale} "${sentence}", and no scope or port a second time`, async () => {
      await using it = await bench();
      it.screen.surround({ locale });
      const rules = { policy: DEFAULT_POLICY, skuGrants: {}, consents: [] };
      it.ask(question('a', { what: decide({ id: AGENDA, capabilities: [asked] }, rules).map(itemOf) }));
      await it.clock.advance(1_000);
      const at = texts(it).indexOf(sentence);
      assert.ok(at > 0, said(it));
      assert.match(texts(it)[at + 1] ?? '', /“r”/);
    });

  it('of forty rights with the longest reasons is read to its end, word for word, before it can be allowed', async () => {
    for (const textScale of [1, 2]) {
      await using it = await bench();
      it.screen.surround({ textScale });
      const what = Array.from({ length: 40 }, (_, index) =>
        item(`sensors.s${index}`, {
          summary: `Read the sensor “s${index}”`,
          reason: `${index} ${'reason '.repeat(27)}`,
        }),
      );
      it.ask(question('a', { what }));
      await it.clock.advance(1_000);
      const seen = (await readToEnd(it)).join(' | ');
      for (const { summary, reason } of what) {
        assert.ok(seen.includes(summary), summary);
        assert.ok(seen.includes(reason.trim()), reason);
      }
      assert.doesNotMatch(seen, /…/);
      for (const node of it.screen.nodes('prompt'))
        if (node.kind === 'text' && /reason/.test(node.text)) assert.equal(node.lines, undefined);
      it.screen.touch('prompt', { tap: 'yes' });
      await it.clock.advance(10);
      assert.equal(it.answers[0]?.[1].length, 40);
    }
  });

  it('that is taller than a page goes on on the next one, in whole lines', async () => {
    await using it = await bench();
    const act = `go ${'word '.repeat(380)}end`;
    it.ask(
      question('a', {
        kind: 'confirm',
        what: [],
        title: 'Firefox on Linux',
        subject: 'page.abc',
        operation: 'x.y',
        act,
      }),
    );
    await it.clock.advance(1_000);
    const heights: number[] = [];
    const look = () => {
      for (const node of it.screen.nodes('prompt'))
        if (node.kind === 'group' && node.clip && node.nodes.every(({ kind }) => kind === 'text'))
          heights.push(node.h ?? 0);
    };
    look();
    while (it.screen.taps('prompt').includes('more')) {
      it.screen.touch('prompt', { tap: 'more' });
      await it.clock.advance(1_000);
      look();
    }
    assert.ok(heights.length > 2, String(heights));
    const { line } = TYPE.label;
    for (const height of heights) assert.ok(Math.abs(height / line - Math.round(height / line)) < 0.01, String(height));
  });

  it('to confirm an act shows the act, the package in its own words, its signer and each right as a sentence', async () => {
    await using it = await bench();
    it.ask(
      question('a', {
        kind: 'confirm',
        title: 'Firefox on Linux',
        subject: 'page.abc',
        act: 'install an app',
        operation: 'apps.install',
        about: { id: 'com.example.eye', title: 'System "update”', version: '1.0.0', signer: 'maker' },
        what: [item('audio.capture', { summary: 'Hear the microphone', reason: 'to listen' })],
        claims: [{ kind: 'reads', name: '/etc/hosts', summary: 'read /etc/hosts' }],
      }),
    );
    await it.clock.advance(1_000);
    const seen = await readToEnd(it);
    for (const text of [
      ...['Install an app', '“System ’update’”', 'com.example.eye', 'version 1.0.0 · signed by maker', 'It may then:'],
      ...['Read /etc/hosts', 'Hear the microphone', 'The app says: “to listen”', 'Cancel', 'Confirm'],
    ])
      assert.ok(seen.includes(text), `${text} in ${seen.join(' | ')}`);
    assert.ok(!seen.includes('page.abc'));
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, [['a', ['yes']]]);
  });

  it('to confirm an act takes the place of the question that the act answers, which does not come back after the yes', async () => {
    await using it = await bench();
    it.ask(question('a'));
    await it.clock.advance(1_000);
    const act = { act: 'allow what is asked', operation: 'prompts.answer', about: { id: AGENDA, answers: 'a' } };
    it.ask(question('b', { kind: 'confirm', title: 'Firefox on Linux', subject: 'page.abc', ...act }));
    await it.clock.advance(1_000);
    assert.match(said(it), /Firefox on Linux.*Allow what is asked/);
    it.screen.touch('prompt', { tap: 'yes' });
    await it.clock.advance(10);
    assert.deepEqual(it.answers, [['b', ['yes']]]);
    assert.ok(!it.screen.surfaces.has('prompt'), said(it));
    it.settled('a');
    await it.clock.advance(10_000);
    assert.ok(!it.screen.surfaces.has('prompt'));
  });

  for (const [what, act] of [
    ['a no', 'no'],
    ['a page that does not ask again', 'yes'],
  ] as const)
    it(`to confirm an act gives its place back after ${what}`, async () => {
      await using it = await bench();
      const about = { id: AGENDA, answers: 'a' };
      it.ask(
        question('a'),
        question('b', { kind: 'confirm', subject: 'page.abc', operation: 'x.y', act: 'do it', about }),
      );
      await it.clock.advance(1_000);
      assert.match(said(it), /Do it/);
      it.screen.touch('prompt', { tap: act });
      await it.clock.advance(7_000);
      assert.match(said(it), /wants permission/);
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
      await readToEnd(it);
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
