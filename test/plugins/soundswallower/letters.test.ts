import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { checkRules } from '@device-core/plugin-api/audio';
import type { SpeechGrammar } from '@device-core/plugin-api/services/speech';
import fc from 'fast-check';
import { Gate } from '../../../plugins/voice/soundswallower/gate.ts';
import { plainWords, sentences, soundWord, withoutPrefix } from '../../../plugins/voice/soundswallower/grammar.ts';
import { judge, PHRASES } from '../../../plugins/voice/soundswallower/judge.ts';
import { pronounceEnglish } from '../../../plugins/voice/soundswallower/letters-en.ts';
import { pronounceFrench } from '../../../plugins/voice/soundswallower/letters-fr.ts';
import { Lexicon } from '../../../plugins/voice/soundswallower/lexicon.ts';
import { Library } from '../../../plugins/voice/soundswallower/library.ts';
import { grammarOf } from '../../fixtures/commands.ts';
import { runs } from '../../fixtures/runs.ts';
import { TITLES } from '../../fixtures/titles.ts';

fc.configureGlobal({ numRuns: runs(100) });

const WORD = fc.stringMatching(/^[a-z]{1,20}$/);
const phrase = fc.array(WORD, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));

describe('pronunciations of words that no dictionary has', () => {
  for (const [word, phones] of [
    ['blick', 'B L IH K'],
    ['shake', 'SH EY K'],
    ['phone', 'F OW N'],
    ['station', 'S T AE SH AH N'],
    ['knight', 'N AY T'],
    ['candle', 'K AE N D AH L'],
    ['witches', 'W IH CH IH Z'],
    ['tv', 'T IY V IY'],
    ["o'neil", 'AA N AY L'],
    ['Señor', 'S EH N AO R'],
  ] as const)
    it(`${word}: ${phones}`, () => assert.equal(pronounceEnglish(word), phones));

  for (const [word, phones] of [
    ['bateau', 'bb aa tt au'],
    ['maison', 'mm ei zz on'],
    ['chambre', 'ch an bb rr'],
    ['garçon', 'gg aa rr ss on'],
    ['œuf', 'oe uu ff'],
  ] as const)
    it(`${word}, in French: ${phones}`, () => assert.equal(pronounceFrench(word), phones));

  for (const [language, pronounce, letters] of [
    ['en', pronounceEnglish, /^[a-zé']{1,20}$/],
    ['fr', pronounceFrench, /^[a-zàâçéèêëîïôœùûü']{1,20}$/],
  ] as const)
    it(`are phones of the model ${language}, for any letters`, async () => {
      const { phones } = await (await Library.open()).model(language);
      const known = new Set(phones);
      fc.assert(
        fc.property(fc.stringMatching(letters), (word) => {
          const said = pronounce(word);
          if (said === undefined) return;
          assert.ok(said.length > 0 && said.split(' ').every((phone) => known.has(phone)), `${word}: ${said}`);
        }),
        { numRuns: runs(500) },
      );
    });

  it('are at least one for every English word of letters', () => {
    fc.assert(fc.property(WORD, (word) => (pronounceEnglish(word) ?? '') !== ''));
  });

  it('are not made of anything else', () => {
    for (const word of ['', '42', 'a1', '漢', '_aa_', 'a b', "'", '🙂']) {
      assert.equal(pronounceEnglish(word), undefined, word);
      assert.equal(pronounceFrench(word), undefined, word);
    }
  });
});

describe('the lexicon', () => {
  const lexicon = new Lexicon('mail M EY L\nthe DH AH\nthe(2) DH IY\nthen DH EH N\n', 'en');

  it('has the pronunciations of the dictionary, all of them, and others by letters and parts', () => {
    assert.deepEqual(lexicon.entries(['the', 'mail']), [
      ['the', 'DH AH'],
      ['the(2)', 'DH IY'],
      ['mail', 'M EY L'],
    ]);
    assert.deepEqual(lexicon.pronounce('then'), ['DH EH N']);
    assert.deepEqual(lexicon.pronounce('blick-mail'), ['B L IH K M EY L']);
  });

  it('refuses unpronounceable words, and never says nothing', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), (word) => {
        try {
          const all = lexicon.pronounce(word);
          assert.ok(all.length > 0 && all.every((phones) => /^[A-Z]+( [A-Z]+)*$/.test(phones)), `${word}: ${all}`);
        } catch (error) {
          assert.ok(error instanceof CoreError && error.code === 'PARAMS_INVALID', String(error));
        }
      }),
      { numRuns: runs(500), examples: [['the DH'], ['-'], ['a-'], ['42'], ['\nthe'], ['the(2)']] },
    );
  });
});

describe('grammars', () => {
  const grammar = (rules: string): SpeechGrammar => grammarOf('g', rules);

  it('have one public rule when they are searched, after any earlier command', () => {
    fc.assert(
      fc.property(
        fc.array(phrase, { maxLength: 3 }),
        fc.array(phrase, { minLength: 1, maxLength: 3 }),
        (before, said) => {
          const jsgf = sentences(grammar(`public <command> = ${said.join(' | ')} | <x>; public <x> = go;`), before);
          assert.equal(
            jsgf.match(/\bpublic\b/g)?.length,
            said
              .concat(before)
              .join(' ')
              .split(' ')
              .filter((one) => one === 'public').length + 1,
          );
          for (const one of before) assert.ok(jsgf.includes(`(${one})`));
        },
      ),
    );
  });

  it('lose a phrase before the command and nothing else', () => {
    fc.assert(
      fc.property(fc.array(phrase, { maxLength: 3 }), phrase, (before, command) => {
        fc.pre(!before.some((one) => command === one || command.startsWith(`${one} `)));
        assert.equal(withoutPrefix(command, before), command);
        for (const one of before) {
          fc.pre(!before.some((other) => other !== one && `${one} ${command}`.startsWith(`${other} `)));
          assert.equal(withoutPrefix(`${one} ${command}`, before), command);
          assert.equal(withoutPrefix(one, before), '');
        }
      }),
    );
  });

  it('take words only from what a phrase is made of', () => {
    assert.deepEqual(plainWords(' Hey,  Computer! '), ['hey', 'computer']);
    assert.deepEqual(plainWords('it’s e-mail'), ["it's", 'e-mail']);
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        for (const word of plainWords(text)) assert.match(word, /^[^\s<>()[\]{}|;=*+/"\\]+$/);
      }),
    );
    assert.equal(soundWord('AA'), '_aa_');
  });

  for (const [rules, missing] of [
    ['public <command> = stop | <go>; <go> = go;', undefined],
    ['public <command> = stop | <NULL>;', undefined],
    ['public <command> = stop "<x>" {<y>} /* <z> */;', undefined],
    ['public <other> = stop;', 'command'],
    ['public <command> = <go> now;', 'go'],
    ['', 'command'],
  ] as const)
    it(`${missing === undefined ? 'are whole' : `want <${missing}>`}: ${rules}`, () => {
      const check = () => checkRules({ id: 'g', language: 'en', jsgf: `#JSGF V1.0;\n${rules}\n`, words: [] });
      if (missing === undefined) check();
      else assert.throws(check, { code: 'PARAMS_INVALID', message: new RegExp(`<${missing}>`) });
    });
});

describe('the verdict', () => {
  const evidence = fc.record({
    lead: fc.integer({ min: -5_000, max: 5_000 }),
    words: fc.integer({ min: 0, max: 500 }),
    sounds: fc.integer({ min: 0, max: 500 }),
    contrast: fc.double({ min: 0, max: 80, noNaN: true }),
  });

  it('is as sure as it says, and never takes more where it is stricter or hears less', () => {
    fc.assert(
      fc.property(
        evidence,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 0, max: 500 }),
        fc.constant(PHRASES),
        (one, strict, frames, demand) => {
          const { accepted, confidence } = judge(one, strict, frames, demand);
          assert.ok(confidence >= 0 && confidence <= 1);
          assert.equal(accepted, confidence >= 0.5);
          assert.ok(accepted || !judge(one, Math.min(1, strict + 0.1), frames, demand).accepted);
          assert.ok(accepted || !judge({ ...one, lead: one.lead - 100 }, strict, frames, demand).accepted);
        },
      ),
      { numRuns: runs(500) },
    );
  });
});

describe('the gate', () => {
  it('is closed in noise that does not change, and opens for louder sound', () => {
    fc.assert(
      fc.property(fc.double({ min: -80, max: -20, noNaN: true }), (noise) => {
        const gate = new Gate(6);
        let last = true;
        for (let frame = 0; frame < 200; frame++) last = gate.passes(noise + (frame % 2));
        assert.equal(last, false);
        gate.passes(noise + 20);
        assert.equal(gate.passes(noise + 20), true);
      }),
    );
  });
});

describe('words that are put together from others', () => {
  const lexicon = new Lexicon('boy B OY\nhome HH OW M\npot P AA T\nsnow S N OW\nowb AW B\n', 'en');

  for (const [word, first] of [
    ['snowboy', 'S N OW B OY'],
    ['homeboy', 'HH OW M B OY'],
    ['homepot', 'HH OW M P AA T'],
    ['homepots', undefined],
    ['snowb', undefined],
    ['snow', 'S N OW'],
  ] as const)
    it(`${word}: ${first ?? 'as its letters are said'}`, () => {
      const [said, ...others] = lexicon.pronounce(word);
      if (first === undefined) assert.deepEqual([said, ...others], [pronounceEnglish(word)]);
      else assert.equal(said, first);
    });

  it('are looked for as their letters are said, too', () => {
    assert.deepEqual(lexicon.pronounce('snowboy'), ['S N OW B OY', 'S N AW B OY']);
    assert.deepEqual(
      lexicon.entries(['snowboy']).map(([word]) => word),
      ['snowboy', 'snowboy(2)'],
    );
  });
});

describe('words that a lexicon can pronounce', () => {
  const lexicon = new Lexicon('hello HH AH L OW\nnaïve N AY IY V\n漢字 K AA N JH IY\n', 'en');

  for (const [what, word, speakable] of [
    ['of the dictionary', 'hello', true],
    ['of the dictionary, in another script', '漢字', true],
    ['of Latin letters', 'blick', true],
    ['of letters with accents', 'žižkov', true],
    ['with a hyphen', 'e-mail', true],
    ['with a hyphen, half of it in another script', 'e-日本', false],
    ['longer than any that is said', 'a'.repeat(10_000), false],
    ['of digits', '42', false],
    ['of nothing', '', false],
    ['of a joiner', '\u200d', false],
    ...TITLES.filter(({ latin }) => !latin).map(({ script, title }) => [script, title.toLowerCase(), false] as const),
  ] as const)
    it(`${what}: ${speakable}`, () => {
      assert.equal(lexicon.isSpeakable(word), speakable);
      if (!speakable) assert.throws(() => lexicon.pronounce(word), { code: 'PARAMS_INVALID' });
    });
});
