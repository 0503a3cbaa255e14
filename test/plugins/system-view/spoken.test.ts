/** What can be said to an open question: no, and once more. Never yes. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { AGENDA, boot, item, question } from './fixture.ts';

after(leakCheck());

async function bench() {
  const clock = virtualClock({ turns: 3 });
  return Object.assign(await boot({ clock }), { clock });
}
const IDS = ['en', 'de', 'fr'].flatMap((language) => [`question.refuse.${language}`, `question.show.${language}`]);

describe('spoken answers to a question', () => {
  it('is known only while one is open', async () => {
    await using it = await bench();
    await it.clock.advance(10);
    assert.deepEqual([...it.sentences.keys()], []);
    for (let time = 0; time < 3; time += 1) {
      it.ask(question('a'), question('b'));
      await it.clock.advance(10);
      assert.deepEqual([...it.sentences.keys()], IDS);
      it.settled('a');
      await it.clock.advance(10);
      assert.deepEqual([...it.sentences.keys()], IDS);
      it.settled('b');
      await it.clock.advance(10);
      assert.deepEqual([...it.sentences.keys()], []);
    }
  });

  const NO: readonly (readonly [language: string, kind: 'consent' | 'confirm' | 'update', said: string])[] = [
    ['en', 'consent', 'Refused: Agenda.'],
    ['en', 'confirm', 'Cancelled: Agenda.'],
    ['en', 'update', 'Not now: Agenda.'],
    ['de', 'consent', 'Abgelehnt: Agenda.'],
    ['fr', 'consent', 'Refusé: Agenda.'],
  ];
  for (const [language, kind, said] of NO)
    it(`no, in ${language}, allows nothing of a ${kind}, and says whose it was`, async () => {
      await using it = await bench();
      it.ask(question('a', { kind }), question('b', { title: 'Ear', subject: 'com.example.ear' }));
      await it.clock.advance(1_000);
      assert.equal(await it.say(`question.refuse.${language}`), said);
      assert.deepEqual(it.answers, [['a', []]]);
    });

  it('no refuses nothing that came while it was said: that is told, and no second one is refused', async () => {
    await using it = await bench();
    it.ask(question('a'), question('b', { title: 'Ear', subject: 'com.example.ear' }));
    await it.clock.advance(1_000);
    await it.say('question.refuse.en');
    await it.clock.advance(10);
    assert.equal(await it.say('question.refuse.en'), 'The question has only just come. Please say it again.');
    assert.deepEqual(it.answers, [['a', []]]);
    await it.clock.advance(1_000);
    assert.equal(await it.say('question.refuse.en'), 'Refused: Ear.');
  });

  const FATES: readonly (readonly [what: string, thrown: Error, said: string])[] = [
    ['was answered elsewhere', new CoreError('CONSENT_NOT_FOUND', { id: 'a' }), 'There is no question on the screen.'],
    ['fails', new Error('disk'), 'That could not be refused. Please answer on the screen.'],
  ];
  for (const [what, thrown, said] of FATES)
    it(`no to a question that ${what} is not called refused`, async () => {
      const clock = virtualClock({ turns: 3 });
      await using it = await boot({ clock, answering: thrown });
      it.ask(question('a'));
      await clock.advance(1_000);
      assert.equal(await it.say('question.refuse.en'), said);
    });

  it('once more wakes the panel, turns back to the first page and reads who asks for what, without the words of the app', async () => {
    await using it = await bench();
    const what = [
      ...Array.from({ length: 5 }, (_, index) => item(`sensors.s${index}`, { reason: 'say yes, allow it' })),
      item('sensors.last', { optional: true }),
    ];
    it.ask(question('a', { what }));
    await it.clock.advance(1_000);
    it.screen.touch('prompt', { tap: 'more' });
    await it.clock.advance(1_000);
    const first = 'Use sensors.s0';
    assert.ok(!it.screen.texts('prompt').includes(first));
    const wakes = () => it.screen.asked.filter((one) => one === 'wake prompt').length;
    const before = wakes();
    const said = await it.say('question.show.en');
    await it.clock.advance(1_000);
    assert.equal(wakes(), before + 1);
    assert.ok(it.screen.texts('prompt').includes(first));
    assert.match(said ?? '', /^Agenda wants permission\. Use sensors\.s0\..* Use sensors\.last, if you like\. /);
    assert.doesNotMatch(said ?? '', /allow/);
    assert.deepEqual(it.answers, []);
  });

  it('once more is short, however much is asked, and a title is no sentence of its own', async () => {
    await using it = await bench();
    const what = Array.from({ length: 40 }, (_, index) => item(`sensors.s${index}`, { summary: 'w'.repeat(60) }));
    it.ask(question('a', { what, title: '  ' }));
    await it.clock.advance(1_000);
    const said = (await it.say('question.show.en')) ?? '';
    assert.ok(said.startsWith(AGENDA) && said.length < 700, said);
    assert.match(said, /And more\. Please answer on the screen\.$/);
  });
});
