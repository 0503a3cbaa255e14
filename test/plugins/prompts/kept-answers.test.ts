/** Answers outlive the Core, and whatever lies in their place. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, describe, it } from 'node:test';
import type { CapabilityId } from '@device-core/plugin-api';
import { mergeAnswers } from '@device-core/plugin-api/inside/consent';
import type { Consent } from '@device-core/plugin-api/inside/services/consents';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { eventually } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';
import { APP, boot, Folder } from './fixture.ts';

after(leakCheck());

function answer(capability: string, allowed: boolean, ports?: readonly number[]): Consent {
  return {
    capability: capability as CapabilityId,
    ...(ports ? { params: { ports } } : {}),
    allowed,
    by: 'operator',
    at: 5,
    version: '1.0.0',
  };
}

describe('answers', () => {
  it('are there again after a restart, and after a loss of the file', async () => {
    using folder = new Folder();
    const first = [answer('audio.capture', true), answer('sensors.nfc', false)];
    {
      await using bench = await boot(folder);
      await bench.consents.keep(APP, first);
      // The last good copy is that of the write before.
      await bench.consents.keep('com.example.other', [answer('audio', true)]);
    }
    {
      await using bench = await boot(folder);
      assert.deepEqual(await bench.consents.of(APP), first);
      const { consents } = await bench.run('consents.list');
      assert.deepEqual(consents, [
        ...first.map((one) => ({ app: APP, ...one })),
        { app: 'com.example.other', ...answer('audio', true) },
      ]);
    }
    writeFileSync(folder.file, '{"format":1,"apps":{"a"');
    await using bench = await boot(folder);
    assert.deepEqual(await bench.consents.of(APP), first);
  });

  const DAMAGED: readonly (readonly [title: string, text: string])[] = [
    ['a list', '[]'],
    ['an app without a list', '{"format":1,"apps":{"a":{}}}'],
    ['an answer that says nothing', '{"format":1,"apps":{"a":[{}]}}'],
    [
      'an answer that is no yes or no',
      '{"format":1,"apps":{"a":[{"capability":"audio","allowed":"yes","by":"x","at":1,"version":"1"}]}}',
    ],
  ];
  for (const [title, text] of DAMAGED)
    it(`of which ${title} is left allow nothing`, async () => {
      using folder = new Folder();
      mkdirSync(dirname(folder.file), { recursive: true });
      writeFileSync(folder.file, text);
      await using bench = await boot(folder);
      assert.deepEqual((await bench.run('consents.list')).consents, []);
      assert.deepEqual(await bench.consents.of('a'), []);
    });

  it('of a newer Core are left alone, and an answer is told that it does not outlive the Core', async () => {
    using folder = new Folder();
    mkdirSync(dirname(folder.file), { recursive: true });
    const text = '{"format":2,"apps":"something else"}';
    writeFileSync(folder.file, text);
    await using bench = await boot(folder);
    await assert.rejects(bench.consents.keep(APP, [answer('audio', true)]), /STATE_NEWER|form 2/);
    assert.deepEqual(await bench.consents.of(APP), [answer('audio', true)]);
    assert.equal(readFileSync(folder.file, 'utf8'), text);
  });

  it('that are kept at the same time are all kept, and each change is told', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const told: string[] = [];
    using _listening = bench.consents.onChange((app) => void told.push(app));
    const capabilities = ['audio.capture', 'sensors.nfc', 'network.listen', 'display.keep'];
    await bench.host.settle();
    await Promise.all(capabilities.map((one) => bench.consents.keep(APP, [answer(one, true)])));
    assert.deepEqual(
      (await bench.consents.of(APP)).map(({ capability }) => capability),
      capabilities,
    );
    await bench.consents.replace(APP, [answer('audio', false)]);
    assert.deepEqual(await bench.consents.of(APP), [answer('audio', false)]);
    // A rollback gives back what was allowed before, but nothing that was refused since.
    const before = [answer('audio', true), answer('display', true)];
    await bench.consents.replace(APP, before);
    assert.deepEqual(await bench.consents.of(APP), [answer('display', true), answer('audio', false)]);
    await bench.consents.forget(APP);
    assert.deepEqual(await bench.consents.of(APP), []);
    await bench.consents.forget(APP);
    await eventually(() => told.length === 7, 'seven changes');
    assert.deepEqual(new Set(told), new Set([APP]));
  });

  it('of more apps than a device has are refused', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    await bench.consents.keep('com.example.0', [answer('audio', true)]);
    const apps = JSON.parse(readFileSync(folder.file, 'utf8'));
    await bench.host.stop();
    for (let n = 1; n < 512; n += 1) apps.apps[`com.example.${n}`] = [answer('audio', true)];
    writeFileSync(folder.file, JSON.stringify(apps));
    await using again = await boot(folder);
    await assert.rejects(again.consents.keep('com.example.one.more', [answer('audio', true)]), /BUSY|512/);
    await again.consents.keep('com.example.7', [answer('audio', false)]);
    assert.deepEqual(await again.consents.of('com.example.one.more'), []);
  });
});

describe('the list of answers', () => {
  it('has one for each capability and port, the newest last', () => {
    const host = 'network.outbound:a.example';
    const merged = mergeAnswers(
      [answer(host, true, [443, 80]), answer('audio', true), answer(host, true, [22])],
      [answer(host, false, [80, 22]), answer('audio', false)],
    );
    assert.deepEqual(merged, [answer(host, true, [443]), answer(host, false, [80, 22]), answer('audio', false)]);
  });

  it('never grows beyond its bound, and drops a no only when there is no yes left', () => {
    const answers = fc.array(
      fc.record({ n: fc.nat(400), allowed: fc.boolean() }).map(({ n, allowed }) => answer(`sensors.s${n}`, allowed)),
      { minLength: 100, maxLength: 600, size: 'max' },
    );
    fc.assert(
      fc.property(answers, (list) => {
        const merged = list.reduce<readonly Consent[]>((kept, one) => mergeAnswers(kept, [one]), []);
        const latest = new Map(list.map((one) => [one.capability, one.allowed]));
        assert.ok(merged.length <= 256);
        const lost = [...latest].filter(([id, allowed]) => !allowed && !merged.some((one) => one.capability === id));
        if (lost.length > 0) assert.ok(merged.every(({ allowed }) => !allowed) || latest.size > 256);
        for (const { capability, allowed } of merged) assert.equal(allowed, latest.get(capability));
      }),
      { numRuns: runs(100) },
    );
  });
});
