import assert from 'node:assert/strict';
import fs from 'node:fs';
import promises, { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { suite, test } from 'node:test';
import { config } from '@device-core/plugin-api/services/config';
import { ISOLATION_VARIABLE } from '@device-core/plugin-api/testing';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { type Started, start } from './start.ts';

const AGENDA = 'com.example.agenda';
const BY = { by: 'operator' };

/** What a Core that is killed now leaves. */
async function killed({ root }: Started): Promise<{ readonly root: string } & AsyncDisposable> {
  const copy = await mkdtemp(join(tmpdir(), 'dc-killed-'));
  await cp(root, copy, { recursive: true });
  return { root: copy, [Symbol.asyncDispose]: () => rm(copy, { recursive: true }) };
}

suite('changes at once', () => {
  const elsewhere = (process.env[ISOLATION_VARIABLE] ?? 'inline') !== 'inline' && 'what is counted runs elsewhere';
  test('32 of them are at most four writes, each with one line of the journal', {
    skip: elsewhere,
  }, async (context) => {
    await using started = await start();
    const service = started.host.service(config);
    await service.set({}, 'first', 1, BY);
    const renamed: string[] = [];
    const { rename } = promises;
    context.mock.method(promises, 'rename', async (from: string, to: string) => {
      await rename(from, to);
      renamed.push(basename(to));
    });
    syncBuiltinESMExports();
    try {
      const set = (index: number) =>
        service
          .set({}, `k${index}`, index, BY)
          .then(() => assert.ok(renamed.length > 0, 'answered before it is there'));
      await Promise.all(Array.from({ length: 32 }, (_, index) => set(index)));
    } finally {
      context.mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.deepEqual([...new Set(renamed)], ['config.yaml'], 'nothing else is written anew');
    assert.ok(renamed.length <= 4, `${renamed.length} writes`);
    const lines = (await readFile(join(started.var, 'config.journal'), 'utf8')).split('\n');
    assert.equal(lines.length, 1 + 1 + renamed.length + 1, 'head, the first, these, and the end');
  });

  test('one of them among 1,000 keys writes the file once, and a line of the journal', {
    skip: elsewhere,
  }, async (context) => {
    await using started = await start();
    const service = started.host.service(config);
    for (let from = 0; from < 1_000; from += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, at) => service.set({}, `k${from + at}`, `value of ${from + at}`, BY)),
      );
    const bytes: number[] = [];
    const { write } = fs;
    context.mock.method(fs, 'write', ((...given: Parameters<typeof write>) => {
      bytes.push((given[1] as unknown as Uint8Array).length);
      return write(...given);
    }) as never);
    syncBuiltinESMExports();
    try {
      await service.set({}, 'k7', 'another', BY);
    } finally {
      context.mock.restoreAll();
      syncBuiltinESMExports();
    }
    const text = await readFile(join(started.var, 'config.yaml'));
    assert.equal(bytes.at(-1), text.length);
    assert.equal(bytes.length, 2, `${bytes}`);
    assert.ok(bytes[0]! < 500, `${bytes[0]} bytes of journal`);
  });

  test('each has its own answer, revision and news, in their order, also of one key', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const heard: unknown[] = [];
    service.watch({}, ({ key, value }) => void heard.push([key, value]));
    const values = Array.from({ length: 32 }, (_, index) => index + 1);
    const answers = await Promise.all(values.map((value) => service.set({}, `k${value % 4}`, value, BY)));
    assert.deepEqual(
      answers.map(({ value }) => value),
      values,
    );
    assert.equal(new Set(answers.map(({ revision }) => revision)).size, 32);
    for (const [index, { revision }] of answers.slice(1).entries()) assert.ok(revision > answers[index]!.revision);
    assert.deepEqual(
      heard,
      values.map((value) => [`k${value % 4}`, value]),
    );
    assert.equal(await readFile(join(started.var, 'config.yaml'), 'utf8'), 'k1: 29\nk2: 30\nk3: 31\nk0: 32\n');
  });

  test('each is held against those before it, and one that is refused does not hold up the others', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const { revision } = await service.set({}, 'a', 0, BY);
    const codes = await Promise.all([
      codeOf(service.set({}, 'a', 1, { ...BY, ifRevision: revision })),
      codeOf(service.set({}, 'a', 2, { ...BY, ifRevision: revision })),
      codeOf(service.set({}, 'a.b', 3, BY)),
      codeOf(service.set({}, 'a', null, BY)),
      codeOf(service.set({}, 'a.b', 4, BY)),
      codeOf(service.set({}, 'a', 5, { ...BY, ifRevision: 0 })),
      codeOf(service.set({}, 'c', 6, BY)),
    ]);
    const fine = 'no error';
    assert.deepEqual(codes, [
      fine,
      'CONFIG_CONFLICT',
      'CONFIG_VALUE_INVALID',
      fine,
      fine,
      'CONFIG_VALUE_INVALID',
      fine,
    ]);
    assert.equal(await readFile(join(started.var, 'config.yaml'), 'utf8'), 'a.b: 4\nc: 6\n');
  });
});

suite('the journal of the settings', () => {
  test('a Core that is killed keeps values, authors and revisions, and the next one leaves no journal', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const scopes = [{}, { app: AGENDA }];
    for (const scope of scopes) {
      await service.set(scope, 'gone', 1, BY);
      for (let value = 0; value < 5; value++) await service.set(scope, 'a', value, { by: `n${value}` });
      await service.set(scope, 'gone', null, BY);
    }
    const before = await Promise.all(scopes.map((scope) => service.get(scope, 'a')));
    await using left = await killed(started);
    assert.ok((await readdir(join(left.root, 'var'))).includes('config.journal'));
    await using again = await start({ root: left.root });
    const found = again.host.service(config);
    assert.deepEqual(await Promise.all(scopes.map((scope) => found.get(scope, 'a'))), before);
    assert.equal(await codeOf(found.get({}, 'gone')), 'CONFIG_KEY_NOT_FOUND');
    assert.ok(!(await readdir(join(left.root, 'var'))).includes('config.journal'));
    assert.ok(!(await readdir(join(left.root, 'var/apps', AGENDA))).includes('config.journal'));
    const next = await found.set({}, 'b', 1, BY);
    assert.ok(next.revision > before[1]!.revision);
  });

  test('the last good copy with it has the last acknowledged write, even if the file is lost', async () => {
    for (const damage of ['a: [\n', '', '\0'.repeat(100)]) {
      await using started = await start();
      const service = started.host.service(config);
      await service.set({}, 'a', 1, BY);
      await service.set({}, 'b.c', { d: 2 }, BY);
      const last = await service.set({}, 'a', 3, { by: 'last' });
      await using left = await killed(started);
      await writeFile(join(left.root, 'var/config.yaml'), damage);
      await using again = await start({ root: left.root });
      assert.deepEqual(await again.host.service(config).get({}, 'a'), last);
      assert.deepEqual((await again.host.service(config).get({}, 'b.c')).value, { d: 2 });
      assert.match((await again.health()).warnings.join(), /the last good one is used/);
    }
  });

  const line = (keys: object) => `${JSON.stringify({ keys })}\n`;
  const entry = { value: 9, revision: 900, setBy: 'ghost', setAt: 1, hash: 'x' };
  const DAMAGES: readonly (readonly [string, (text: string) => string, RegExp | undefined])[] = [
    ['a line that was not finished', (text) => `${text}{"keys":{"a":`, undefined],
    ['a write whose file was never there', (text) => text + line({ a: entry, b: entry }), undefined],
    ['garbage at its end', (text) => `${text}\0\0\0\n`, /line 5 of .*config\.journal is damaged/],
    ['nothing but garbage', () => '\0\0\0', /line 1 of .*config\.journal is damaged/],
    ['no bytes', () => '', undefined],
    ['another past', () => `{"format":1,"of":77}\n${line({ a: entry })}`, undefined],
    ['a newer form', () => '{"format":2,"of":0}\n', undefined],
  ];
  for (const [title, damage, note] of DAMAGES)
    test(`with ${title} it costs no value`, async () => {
      await using started = await start();
      const service = started.host.service(config);
      for (let value = 0; value < 3; value++) await service.set({}, 'a', value, BY);
      const before = await service.get({}, 'a');
      await using left = await killed(started);
      const file = join(left.root, 'var/config.journal');
      const text = damage(await readFile(file, 'utf8'));
      await writeFile(file, text);
      await using again = await start({ root: left.root });
      const entry = await again.host.service(config).get({}, 'a');
      assert.equal(entry.value, before.value);
      if (title.startsWith('a ')) assert.ok(entry.setBy === 'operator' || title === 'a newer form');
      const { warnings, components } = await again.health();
      assert.equal(components.config?.status, 'okay');
      if (note) assert.match(warnings.join(), note);
      await again.host.service(config).set({}, 'b', 1, BY);
      await using later = await killed(again);
      if (title === 'a newer form') {
        assert.equal(await readFile(join(later.root, 'var/config.journal'), 'utf8'), text, 'it is left alone');
        assert.match(warnings.join(), /config\.journal/);
      }
      await using third = await start({ root: later.root });
      assert.equal((await third.host.service(config).get({}, 'b')).setBy, 'operator');
    });

  test('an edit by hand after a kill is an edit, with an author and a revision of its own', async () => {
    await using started = await start();
    const service = started.host.service(config);
    await service.set({}, 'a', 1, BY);
    const last = await service.set({}, 'a', 2, BY);
    await using left = await killed(started);
    await writeFile(join(left.root, 'var/config.yaml'), 'a: 5\n');
    await using again = await start({ root: left.root });
    const entry = await again.host.service(config).get({}, 'a');
    assert.deepEqual([entry.value, entry.setBy], [5, 'file']);
    assert.ok(entry.revision > last.revision);
  });
});
