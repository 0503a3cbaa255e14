/** Words without a pronunciation: named in `intents` and in /health, and gone with the app that brought them. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { speech } from '@device-core/plugin-api/services/speech';
import { given, leakCheck } from '@device-core/plugin-api/testing';
import { addApps } from '../../../plugins/display/home/phrases.ts';
import { ODD_TITLES, TITLES } from '../../fixtures/titles.ts';
import { APP, eventually, type Started, start } from './start.ts';

after(leakCheck());

interface Listed {
  readonly unspoken: readonly { readonly intent: string; readonly owner: string; readonly words: readonly string[] }[];
}
const SAYS = { show: async () => undefined, open: async () => undefined };
const latinOnly = given(speech, {
  unspeakable: async (words, language) => (language === 'en' ? words.filter((word) => !/^[a-zà-ž']+$/.test(word)) : []),
});
const startEnglish = () => start({ services: [latinOnly as never] });
const unspoken = async (started: Started, params: object = {}) =>
  ((await started.table.run('intents.list', {}, params)) as Listed).unspoken;
const warnings = async (started: Started) => {
  const told: string[] = [];
  await started.host.hook('health.collect').promise({
    add: () => undefined,
    bridge: () => undefined,
    warn: (code, message) => void told.push(`${code}: ${message}`),
  });
  return told.filter((one) => one.startsWith('WORDS_LEFT_OUT'));
};

suite('sentences that cannot be heard', () => {
  for (const { script, title, latin } of TITLES)
    test(`an app with a title in ${script}: ${latin ? 'heard' : 'named as not heard'}, matched as text, and gone with the app`, async () => {
      await using started = await startEnglish();
      const app = { id: 'com.example.t', title, running: true };
      const added = await addApps(started.intents, [app, { ...app, id: 'com.example.u', title: 'Radio' }], SAYS);
      const { slots } = await started.plan(`open ${title}`);
      assert.deepEqual(slots, { app: 'com.example.t' });
      const word = title.normalize('NFC').toLowerCase();
      const expected = latin ? [] : [{ intent: 'home.open.en', owner: 'plugin.home', words: [word] }];
      assert.deepEqual(await unspoken(started), expected);
      assert.equal((await warnings(started)).length, expected.length);
      if (!latin) assert.ok((await warnings(started))[0]!.includes(`"${word}"`));
      await added[Symbol.asyncDispose]();
      assert.deepEqual(await unspoken(started), []);
      assert.deepEqual(await warnings(started), []);
    });

  for (const title of ODD_TITLES)
    test(`an app called ${JSON.stringify(title.slice(0, 20))} leaves the other apps their sentences`, async () => {
      await using started = await startEnglish();
      const apps = [title, 'Radio'].map((title, index) => ({ id: `com.example.a${index}`, title, running: true }));
      await using _ = await addApps(started.intents, apps, SAYS);
      assert.deepEqual((await started.plan('open radio')).slots, { app: 'com.example.a1' });
    });

  test('apps whose titles sound alike are not opened by it, the others are', async () => {
    await using started = await startEnglish();
    const titles = ['USB3', 'usb 3', 'Bob’s', "bob's", 'Radio'];
    const apps = titles.map((title, index) => ({ id: `com.example.a${index}`, title, running: true }));
    await using _ = await addApps(started.intents, apps, SAYS);
    for (const title of titles.slice(0, 4)) assert.equal((await started.match(`open ${title}`)).outcome, 'none', title);
    assert.equal((await started.plan('open radio')).slots.app, 'com.example.a4');
  });

  test('an utterance of an app is named for the app and for holders of audio alone', async () => {
    await using started = await startEnglish();
    started.registry.put({ utterances: ['say 日本語 [日本語|العربية]', 'say hello'] });
    await eventually('it can be said', async () =>
      (await started.match('say hello')).outcome === 'plan' ? true : undefined,
    );
    const expected = [{ intent: `${APP}.agenda.next`, owner: `app.${APP}`, words: ['العربية', '日本語'] }];
    assert.deepEqual(await unspoken(started), expected);
    assert.deepEqual(await unspoken(started, { caller: { kind: 'app', id: APP } }), expected);
    assert.deepEqual(await unspoken(started, { caller: { kind: 'app', id: 'com.example.other' } }), []);
    assert.match((await warnings(started))[0]!, /"العربية", "日本語".*com\.example\.agenda\.agenda\.next/);
    // A grammar keeps all words: an engine that can pronounce them gets them.
    assert.match((await started.intents.grammar('en'))!.jsgf, /日本語/);
    await started.registry.unregister();
    await eventually('it is gone', async () => ((await unspoken(started)).length === 0 ? true : undefined));
  });

  test('nothing is named where nothing hears', async () => {
    await using started = await start();
    started.registry.put({ utterances: ['say 日本語'] });
    await eventually('it can be said', async () =>
      (await started.match('say 日本語')).outcome === 'plan' ? true : undefined,
    );
    assert.deepEqual(await unspoken(started), []);
    assert.deepEqual(await warnings(started), []);
  });
});
