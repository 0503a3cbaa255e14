import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { config } from '@device-core/plugin-api/services/config';
import fc from 'fast-check';
import { parse } from 'yaml';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { type Started, start } from './start.ts';

const KEY = /^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*)*$/;

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { value };
  return value;
}

suite('keys and values', () => {
  let started: Started;
  before(async () => {
    started = await start();
  });
  after(() => started[Symbol.asyncDispose]());

  const set = (key: string, value: unknown) => started.table.run('config.set', { key, value });

  test('a key that is not one is refused wherever it is used', async () => {
    const wrong = [
      '',
      '.',
      'a.',
      '.a',
      'a..b',
      '-a',
      '_a',
      'a b',
      'a/b',
      'ä',
      'a.-b',
      '__proto__',
      'a\n',
      '../x',
      `${'a'.repeat(129)}`,
      'a.b.c.d.e.f.g.h.i',
    ];
    for (const key of wrong) {
      assert.equal(await codeOf(set(key, 1)), 'CONFIG_KEY_INVALID', JSON.stringify(key));
      assert.equal(await codeOf(started.table.run('config.get', { key })), 'CONFIG_KEY_INVALID', JSON.stringify(key));
    }
    for (const key of [
      'a',
      '0',
      'A-b_c.1',
      'constructor',
      'a'.repeat(128),
      'a.b.c.d.e.f.g.h',
      '1.50',
      'true',
      'null',
      '0x10',
    ]) {
      assert.deepEqual((await set(key, 1)).value, 1, key);
      await set(key, null);
    }
  });

  test('any text is either a valid key that comes back, or refused as the pattern says', async () => {
    const service = started.host.service(config);
    const segment = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/);
    await fc.assert(
      fc.asyncProperty(fc.oneof(segment, fc.string({ maxLength: 10 })), async (key) => {
        const code = await codeOf(service.get({}, key));
        const valid = KEY.test(key) && key.split('.').length <= 8;
        assert.equal(code, valid ? 'CONFIG_KEY_NOT_FOUND' : 'CONFIG_KEY_INVALID');
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('any JSON within the limits is kept exactly, through the file and back', async () => {
    const service = started.host.service(config);
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    const awkward = fc.constantFrom(
      '',
      ' ',
      'null',
      '~',
      'yes',
      '1e3',
      '0x1f',
      '# x',
      'a: b',
      '- a',
      '\n',
      'a\n\nb\n',
      '\u2028',
      '\u0000',
      '\t',
      '!value',
      '&a',
      '*a',
      '|',
      '>',
      '2020-01-01',
      '<<',
      '=',
      "'",
      '"',
      '\ufeff',
    );
    const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }).filter((json) => json !== null);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(value, text, awkward, fc.dictionary(awkward, awkward, { maxKeys: 4 })),
        async (json) => {
          const wanted = JSON.parse(JSON.stringify(json));
          await service.set({}, 'kept.value', wanted, { by: 'test' });
          assert.deepEqual((await service.get({}, 'kept.value')).value, wanted);
        },
      ),
      { numRuns: runs(150) },
    );
    await service.set({}, 'kept.value', null, { by: 'test' });
  });

  test('a value is refused by size, depth and kind', async () => {
    const service = started.host.service(config);
    const cases: [string, unknown, string][] = [
      ['64 KiB', 'x'.repeat(64 * 1024 - 2), 'no error'],
      ['over 64 KiB', 'x'.repeat(64 * 1024 - 1), 'CONFIG_VALUE_INVALID'],
      ['64 KiB in bytes, not characters', 'ä'.repeat(32 * 1024), 'CONFIG_VALUE_INVALID'],
      ['depth 8', nested(8), 'no error'],
      ['depth 9', nested(9), 'CONFIG_VALUE_INVALID'],
      ['undefined', undefined, 'CONFIG_VALUE_INVALID'],
      ['NaN', { a: Number.NaN }, 'CONFIG_VALUE_INVALID'],
      ['a date', new Date(), 'CONFIG_VALUE_INVALID'],
      ['a function', () => 1, 'CONFIG_VALUE_INVALID'],
      ['half a surrogate pair', 'a\ud800', 'CONFIG_VALUE_INVALID'],
      ['half a surrogate pair in a name', { '\udc00': 1 }, 'CONFIG_VALUE_INVALID'],
    ];
    for (const [name, value, code] of cases) {
      assert.equal(await codeOf(service.set({}, 'limits', value, { by: 'test' })), code, name);
      await service.set({}, 'limits', null, { by: 'test' });
    }
  });

  test('within one scope a key is a value or the beginning of other keys, never both', async () => {
    await set('tree.leaf', 1);
    assert.equal(await codeOf(set('tree', 1)), 'CONFIG_VALUE_INVALID');
    assert.equal(await codeOf(set('tree.leaf.more', 1)), 'CONFIG_VALUE_INVALID');
    assert.equal((await set('tree-x', 1)).value, 1);
    await set('tree.leaf', null);
    assert.equal((await set('tree', { leaf: 2 })).revision !== 0, true);
    const onDisk = parse(await readFile(join(started.var, 'config.yaml'), 'utf8'), { logLevel: 'silent' });
    assert.deepEqual(onDisk.tree, { leaf: 2 });
  });

  test('a scope is bounded in keys and bytes', async () => {
    await using small = await start({ config: { maxKeys: 3, maxBytes: 1024 } });
    const write = (key: string, value: unknown) => small.table.run('config.set', { key, value });
    for (const key of ['a', 'b', 'c']) await write(key, 1);
    assert.equal(await codeOf(write('d', 1)), 'CONFIG_VALUE_INVALID');
    assert.equal((await write('a', 2)).value, 2);
    assert.equal(await codeOf(write('a', 'x'.repeat(1024))), 'CONFIG_VALUE_INVALID');
    assert.equal((await small.table.run('config.get', { key: 'a' })).value, 2);
  });

  test('writes to one file come one after the other, and too many at once are refused rather than kept', async () => {
    const results = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => set(`many.k${index}`, index)));
    const done = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
    assert.equal(done.length, 128);
    for (const index of done) {
      assert.equal((await started.table.run('config.get', { key: `many.k${index}` })).value, index);
    }
    for (const result of results) {
      if (result.status === 'rejected') assert.equal(result.reason.code, 'QUEUE_FULL');
    }
  });
});
