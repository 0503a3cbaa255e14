/** The language of the documents: plain sentences of at most 25 words, one word for one thing. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { ERROR_CODES } from '@device-core/plugin-api';
import { proseOf, sentencesOf, wordsOf } from '../fixtures/prose.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MOST_WORDS = 25;
/** Decision records are notes of their day, and stay as they were written. */
const PAGES = ['*.md', 'docs/*.md', 'docs/{guides,examples,reference}/**/*.md', 'plugins/*/README.md'];
/** Made of change notes, and of comments of the code. */
const MADE = new Set(['CHANGELOG.md', 'docs/reference/services.md', 'docs/reference/plugin-api.md']);

/** As a word of its own: application/json is another one. */
const standsIn = (text: string, word: string) => new RegExp(`(?<![\\w/-])${word}s?(?![\\w/-])`, 'i').test(text);
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const pages = globSync(PAGES, { cwd: ROOT }).filter((file) => !MADE.has(file));

describe('sentences have at most 25 words', () => {
  assert.ok(pages.length > 30);
  for (const file of pages)
    test(file, () => {
      const long = sentencesOf(read(file)).filter(({ text }) => wordsOf(text) > MOST_WORDS);
      assert.deepEqual(
        long.map(({ line, text }) => `${file}:${line}: ${wordsOf(text)} words: ${text}`),
        [],
      );
    });

  test('messages of the table of errors', () => {
    const long = Object.entries(ERROR_CODES).filter(([, [, , template]]) => wordsOf(template) > MOST_WORDS);
    assert.deepEqual(
      long.map(([code]) => code),
      [],
    );
  });

  test('the rule is one that a sentence can break', () => {
    const [first, second, ...rest] = sentencesOf(
      `# A title\n\nOne \`a b c\`. Two ([x y](z.md)) three!\n\n- ${'word '.repeat(26)}\n`,
    );
    assert.equal(first?.text, 'A title');
    assert.equal(second?.text, 'One `a b c`.');
    assert.deepEqual(
      rest.map(({ line, text }) => [line, wordsOf(text)]),
      [
        [3, 4],
        [5, 26],
      ],
    );
  });
});

describe('the words of the glossary', () => {
  const rows = read('docs/reference/glossary.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (term|-)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const others = rows.flatMap(([, term = '', , not = '']) =>
    not.split(', ').flatMap((word) => (word === '' ? [] : [{ term, word }])),
  );

  test('are in order, and name those that are not used', () => {
    assert.ok(rows.length > 35 && others.length > 15);
    const terms = rows.map(([, term = '']) => term.toLowerCase());
    assert.deepEqual(terms, terms.toSorted());
  });

  for (const file of pages.filter((page) => !page.endsWith('glossary.md')))
    test(`are those of ${file}`, () => {
      const prose = proseOf(read(file));
      const found = others.filter(({ word }) => standsIn(prose, word));
      assert.deepEqual(
        found.map(({ term, word }) => `"${word}" for "${term}"`),
        [],
      );
    });

  test('are those of the messages of errors', () => {
    const messages = Object.values(ERROR_CODES).map(([, , template]) => template);
    assert.deepEqual(
      others.filter(({ word }) => messages.some((text) => standsIn(text, word))),
      [],
    );
  });
});
