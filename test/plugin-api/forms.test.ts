/** Form beside form: builds of two and three forms go back and forth over one store, and nothing is lost without a line. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { stateChanges, stateOf } from '@device-core/plugin-api';
import { dropForms, formFile, KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';
import { part } from '../fixtures/scope.ts';

after(leakCheck());

const place = mkdtempSync(join(tmpdir(), 'forms-'));
after(() => rmSync(place, { recursive: true, force: true }));
let count = 0;
const folder = () => {
  const path = join(place, String(count++));
  mkdirSync(path);
  return path;
};

type Words = readonly string[];
const isWords = (found: unknown): found is Words =>
  Array.isArray(found) && found.every((one) => typeof one === 'string');
/** Words as builds of three ages write them: a text, a list, a list under another name. */
const READERS: Readonly<Record<number, (found: Readonly<Record<string, unknown>>) => Words | undefined>> = {
  1: ({ words }) => (typeof words === 'string' ? words.split(' ').filter((word) => word !== '') : undefined),
  2: ({ words }) => (isWords(words) ? words : undefined),
  3: ({ terms }) => (isWords(terms) ? terms : undefined),
};
const WRITERS: Readonly<Record<number, (words: Words) => object>> = {
  1: (words) => ({ words: words.join(' ') }),
  2: (words) => ({ words }),
  3: (words) => ({ terms: words }),
};

/** A build that writes a form and reads it and those before it. */
function build(form: number): KeptForm<Words> {
  const former = Object.fromEntries(Object.entries(READERS).filter(([of]) => Number(of) < form));
  return {
    form,
    former,
    initial: [],
    consequence: 'words are forgotten',
    parse: READERS[form]!,
    format: WRITERS[form]!,
  };
}

async function open(path: string, form: number) {
  const parts = part();
  const kept = await KeptFile.open(path, build(form), parts.scope, parts.log);
  const codes: string[] = [];
  const report: HealthReport = {
    add: (_, { code }) => codes.push(code ?? ''),
    bridge: () => assert.fail(),
    warn: (code) => codes.push(code),
  };
  kept.tell(report, 'words');
  return { kept, codes, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() };
}

const lines = (path: string): readonly string[] =>
  ['.1', '']
    .flatMap((more) => {
      try {
        return readFileSync(path.replace(/json$/, `forms.jsonl${more}`), 'utf8').split('\n');
      } catch {
        return [];
      }
    })
    .filter((line) => line !== '');

describe('a store of another form', () => {
  it('lies beside the old one, which stays as it was; who goes back finds it, and is told', async () => {
    const path = join(folder(), 'words.json');
    {
      await using one = await open(path, 1);
      await one.kept.set(['a']);
    }
    const old = readFileSync(path, 'utf8');
    {
      await using two = await open(path, 2);
      assert.deepEqual(two.kept.value, ['a']);
      assert.equal(two.kept.path, formFile(path, 2));
      await two.kept.set(['a', 'b']);
      assert.deepEqual(two.codes, []);
    }
    assert.equal(readFileSync(path, 'utf8'), old);
    {
      await using back = await open(path, 1);
      assert.deepEqual(back.kept.value, ['a']);
      assert.deepEqual(back.codes, ['STATE_NEWER']);
    }
    await using forth = await open(path, 2);
    assert.deepEqual(forth.kept.value, ['a', 'b'], 'nobody changed the old one: the new one goes on');
    assert.equal(lines(path).length, 2, lines(path).join('\n'));
  });

  it('is made anew where both forms changed; what it held is set aside and told', async () => {
    const path = join(folder(), 'words.json');
    for (const [form, words] of [
      [1, ['a']],
      [2, ['a', 'b']],
      [1, ['a', 'c']],
    ] as const) {
      await using one = await open(path, form);
      await one.kept.set(words);
    }
    await using forth = await open(path, 2);
    assert.deepEqual(forth.kept.value, ['a', 'c']);
    const aside = readdirSync(join(path, '..')).filter((name) => name.startsWith('words.2.json.corrupt-'));
    assert.equal(aside.length, 1);
    assert.match(readFileSync(join(path, '..', aside[0]!), 'utf8'), /"b"/);
    assert.match(lines(path).at(-1)!, /was changed after words\.2\.json was made/);
  });

  it('without the file of the way is made of the files here; a damaged one stays and is told', async () => {
    const path = join(folder(), 'words.json');
    writeFileSync(path, '{"format":1,"words":7}');
    await using two = await open(path, 2);
    assert.deepEqual(two.kept.value, []);
    assert.equal(readFileSync(path, 'utf8'), '{"format":1,"words":7}');
    assert.match(lines(path).at(-1)!, /cannot be made of words\.json, which stays/);
    await two.kept.set(['x']);
    assert.equal(readFileSync(path, 'utf8'), '{"format":1,"words":7}');
  });

  it('that is damaged itself is set aside and made of the older one', async () => {
    const path = join(folder(), 'words.json');
    writeFileSync(path, '{"format":1,"words":"a"}');
    writeFileSync(formFile(path, 2), '{"form');
    await using two = await open(path, 2);
    assert.deepEqual(two.kept.value, ['a']);
    assert.ok(readdirSync(join(path, '..')).some((name) => name.startsWith('words.2.json.corrupt-')));
  });

  it('goes when no image that may start writes it any more', async () => {
    const state = folder();
    mkdirSync(join(state, 'deep'));
    const path = join(state, 'deep', 'words.json');
    for (const form of [1, 2]) {
      await using one = await open(path, form);
      await one.kept.set([String(form)]);
    }
    const [one, two, none] = [1, 2, 0].map((form) =>
      stateOf(form === 0 ? [{}] : [{ state: { 'deep/*.json': { reads: [1, 2], writes: form } } }]),
    );
    assert.deepEqual(await dropForms(state, [two!, one!]), []);
    assert.deepEqual(await dropForms(state, [two!, none!]), [], 'an image that does not say keeps it');
    assert.deepEqual(await dropForms(state, [two!, two!]), [path]);
    assert.deepEqual(globSync('deep/words*', { cwd: state }).sort(), [
      ...['deep/words.2.json', 'deep/words.2.json.last-good', 'deep/words.forms.jsonl'],
    ]);
    await using left = await open(path, 2);
    assert.deepEqual(left.kept.value, ['2']);
  });

  it('is named by what an image says of its state, with what has no way forth or back', () => {
    const forms = (reads: readonly number[], writes: number) => ({ 'a.json': { reads, writes } });
    for (const [now, next, expected] of [
      [forms([1], 1), forms([1], 1), []],
      [forms([1], 1), forms([1, 2], 2), [{ store: 'a.json', from: 1, to: 2, forth: true, back: false }]],
      [forms([1, 2], 1), forms([1, 2], 2), [{ store: 'a.json', from: 1, to: 2, forth: true, back: true }]],
      [forms([1, 2], 2), forms([1], 1), [{ store: 'a.json', from: 2, to: 1, forth: false, back: true }]],
      [forms([1], 1), {}, []],
    ] as const)
      assert.deepEqual(stateChanges(now, next), expected);
  });
});

describe('random journeys between builds of three forms', { timeout: 300_000 }, () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('start' as const), form: fc.integer({ min: 1, max: 3 }) }) },
  );

  it('lose nothing without a line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
        const path = join(folder(), 'words.json');
        let now = await open(path, 1);
        let form = 1;
        let last = 0;
        /** Words that were acknowledged, and must be there or told. */
        const said = new Set<string>();
        try {
          for (const one of steps) {
            if (one.kind === 'write') {
              // Many at once: of those the newest is written, and all are in it.
              const burst = [`w${last++}`, `w${last++}`];
              const writes = burst.map((_, at) => now.kept.set([...now.kept.value, burst[at]!]));
              await Promise.all(writes);
              for (const word of now.kept.value) said.add(word);
              continue;
            }
            const told = lines(path).length;
            const before = new Set(now.kept.value);
            await now[Symbol.asyncDispose]();
            now = await open(path, one.form);
            form = one.form;
            const seen = new Set(now.kept.value);
            const lost = [...before].filter((word) => !seen.has(word));
            const fresh = lines(path).slice(told);
            for (const word of lost) assert.ok(accounted(path, word, form, fresh), `${word} is lost at form ${form}`);
          }
        } finally {
          await now[Symbol.asyncDispose]();
        }
        const kept = everything(path);
        const aside = lines(path).filter((line) => line.includes('set aside')).length;
        // Three files aside are kept; what was in older ones is told all the same.
        if (aside <= 3) for (const word of said) assert.ok(kept.has(word), `${word} is nowhere`);
      }),
      { numRuns: runs(200) },
    );
  });

  /** A word that is not seen any more is in a file that a line names: a newer form as it is now, or one that was set aside just now. */
  function accounted(path: string, word: string, form: number, fresh: readonly string[]): boolean {
    return filesOf(path).some((file) => {
      const text = readFileSync(file, 'utf8');
      if (!new RegExp(`\\b${word}\\b`).test(text)) return false;
      if (file.includes('.corrupt-')) return fresh.some((line) => line.includes('set aside'));
      const hash = `sha256:${createHash('sha256').update(text).digest('hex')}`;
      const newer = [2, 3].some((one) => one > form && file === formFile(path, one));
      return newer && lines(path).some((line) => line.includes('is not seen') && line.includes(hash));
    });
  }

  const filesOf = (path: string): readonly string[] =>
    readdirSync(join(path, '..'))
      .filter((name) => name.startsWith('words') && !name.endsWith('.jsonl'))
      .map((name) => join(path, '..', name));

  const everything = (path: string): ReadonlySet<string> =>
    new Set(filesOf(path).flatMap((file) => readFileSync(file, 'utf8').match(/\w+/g) ?? []));
});
