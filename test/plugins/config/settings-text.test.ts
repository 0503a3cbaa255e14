import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import fc from 'fast-check';
import { ConfigDocument } from '../../../plugins/state/config/document.ts';
import { SettingsText } from '../../../plugins/state/config/settings-text.ts';
import { runs } from '../../fixtures/runs.ts';

const LIMITS = { maxKeys: 2_000, maxBytes: 1_000_000 };
const textOf = (text: string) => new SettingsText('', text, ConfigDocument.parse(text, ''));
const valuesIn = (text: string) => {
  const document = ConfigDocument.parse(text, '');
  return inOrder([...document.keys()].map((key) => [key, document.value(key)] as const));
};
/** By the keys alone: a value may have a `toString` of its own. */
const inOrder = (entries: Iterable<readonly [string, unknown]>) =>
  new Map([...entries].toSorted(([one], [other]) => (one < other ? -1 : 1)));

suite('the text of a settings file', () => {
  test('a device without settings loads no YAML', () => {
    const from = (file: string) => new URL(`../../../plugins/state/config/${file}`, import.meta.url);
    const script = `
      import { createRequire } from 'node:module';
      import { ConfigDocument } from '${from('document.ts')}';
      import { SettingsText } from '${from('settings-text.ts')}';
      const loaded = () => Object.keys(createRequire('${import.meta.url}').cache).some((file) => file.includes('/node_modules/yaml/'));
      const document = ConfigDocument.parse('', '');
      const text = new SettingsText('', '', document);
      const before = [[...document.keys()], document.value('a'), text.toString(), loaded()];
      text.set('a', 'x: y', ${JSON.stringify(LIMITS)});
      console.log(JSON.stringify([...before, text.toString(), loaded()]));`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    assert.deepEqual(JSON.parse(out), [[], null, '{}\n', false, 'a: "x: y"\n', true]);
  });

  test('a line that is written without the library is the line that the library writes', () => {
    const segment = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,6}$/),
      fc.constantFrom('true', 'null', 'e', 'on', '1', '0x1', '1e3', 'No'),
    );
    const key = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('.'));
    const value = fc.oneof(
      fc.integer(),
      fc.boolean(),
      fc.string(),
      fc.stringMatching(/^[A-Za-z0-9_./ -]{0,12}$/),
      fc.constantFrom('true', 'No', 'a - b', 'a -', 'a #', 'x: y', '.inf', 'NaN', '-', '~', '1e3', '2020-01-01'),
    );
    fc.assert(
      fc.property(key, value, (name, content) => {
        const library = ConfigDocument.parse('', '');
        library.set(name, content);
        const own = textOf('');
        own.set(name, content, LIMITS);
        assert.equal(own.toString(), library.toString());
        assert.deepEqual(valuesIn(own.toString()).get(name), content);
      }),
      { numRuns: runs(5_000) },
    );
  });

  const TEXTS = [
    '',
    '{}\n',
    '# only a comment\n',
    '# c\na: 1\n\n# d\nb:\n  c: 2 # x\n  d: |\n    # no comment\n    text\n\n# e\nf: "x\n  y"\n# tail\n',
    '{a: 1, b: {c: 2}}\n',
    'a.b: 1\nui: {x: 1, y: 2} # hi\nz:\n',
    '---\na: 1\n',
    'a: 1',
    '? a\n: 1\nb: 2\n',
    '\ufeffa: 1\n',
    'a: !value\n  b: 1\nx: |+\n  t\n\n\ny: 1\n',
    'a: 1\r\nb: 2\r\n',
  ];
  test('any row of changes has the intended values, keeps the rest byte for byte, and can be undone', () => {
    const key = fc.constantFrom('a', 'b', 'b.c', 'b.d', 'f', 'a.b', 'ui.x', 'ui.y', 'z', 'q.r', 'x', 'y');
    const value = fc.oneof(fc.constantFrom(null, 1, 't', true, 'a\nb', { p: [1] }, []), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(fc.constantFrom(...TEXTS), fc.array(fc.tuple(key, value, fc.boolean())), (text, changes) => {
        const wanted = new Map(valuesIn(text));
        const settings = textOf(text);
        for (const [name, json, back] of changes) {
          const before = settings.toString();
          const meant = JSON.parse(JSON.stringify(json));
          try {
            const former = settings.settled();
            settings.set(name, meant, LIMITS);
            assert.equal(settings.settled(), former, 'before it is settled');
            if (back) settings.takeBack();
            else {
              settings.settle();
              if (meant === null) wanted.delete(name);
              else wanted.set(name, meant);
            }
          } catch (error) {
            assert.equal((error as CoreError).code, 'CONFIG_VALUE_INVALID');
            assert.equal(settings.toString(), before, 'a refused change leaves nothing');
          }
          if (back) assert.equal(settings.toString(), before);
          assert.ok([settings.toString(), ''].includes(settings.settled()));
          assert.deepEqual(valuesIn(settings.toString()), inOrder(wanted));
        }
      }),
      { numRuns: runs(500) },
    );
  });

  test('unchanged keys are neither read nor written anew', (context) => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `k${index}:   ${index}    # by hand\n`);
    const settings = textOf(lines.join(''));
    const parsed: number[] = [];
    const parse = ConfigDocument.parse;
    context.mock.method(ConfigDocument, 'parse', (text: string, file: string) => {
      parsed.push(text.length);
      return parse.call(ConfigDocument, text, file);
    });
    settings.set('k500', 7, LIMITS);
    settings.set('new.key', 'text', LIMITS);
    settings.set('other', { list: [1] }, LIMITS);
    const total = parsed.reduce((sum, length) => sum + length, 0);
    assert.ok(total < 200, `${total} characters of YAML are read for three of 1,000 keys`);
    lines[500] = 'k500: 7 # by hand\n';
    assert.equal(settings.toString(), `${lines.join('')}new.key: text\nother: !value\n  list:\n    - 1\n`);
  });
});
