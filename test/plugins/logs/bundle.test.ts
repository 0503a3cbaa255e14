/** What the Core gives for a support bundle. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { type Caller, CoreError } from '@device-core/plugin-api';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { type Fixture, startLogs } from './fixture.ts';

after(leakCheck());

const KEPT = 'kept-by-a-"vault"';
const PAGE: Caller = { kind: 'operator', id: 'page', signedIn: { id: 's', role: 'operator' } };
const hide = async (texts: readonly string[]) =>
  texts.map((one) => one.replaceAll(JSON.stringify(KEPT).slice(1, -1), '[secret]').replaceAll(KEPT, '[secret]'));

function answers(logs: Fixture, name: string, run: Operation<never, unknown>['run'], capability?: string): void {
  logs.table.add({
    name,
    summary: name,
    params: { type: 'object', additionalProperties: true },
    result: { type: 'object' },
    errors: [],
    ...(capability && { capability }),
    run,
  });
}

const bundle = async (logs: Fixture, name: string, call: object = {}) =>
  ((await logs.table.run('logs.bundle', { name }, call)) as { text: string }).text;

/** A journalctl that prints these entries. */
function journalctl(context: TestContext, entries: readonly object[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'jc-'));
  const { PATH } = process.env;
  context.after(() => {
    process.env.PATH = PATH;
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, 'entries'), entries.map((one) => `${JSON.stringify(one)}\n`).join(''));
  writeFileSync(join(folder, 'journalctl'), `#!/bin/sh\necho "$@" >${folder}/asked\ncat ${folder}/entries\n`);
  chmodSync(join(folder, 'journalctl'), 0o755);
  process.env.PATH = `${folder}${delimiter}${PATH}`;
}

describe('a part of a support bundle', () => {
  it('is an answer of the Core, page by page, with secrets hidden by name, by looks and by value', async () => {
    await using logs = await startLogs();
    await logs.host.appear(secretScan, { hide });
    const keys = Array.from({ length: 150 }, (_, n) => ({ key: `k${n}`, value: KEPT, password: 'hunter2-hunter2' }));
    answers(logs, 'config.describe', async ({ after }: { after?: string }) =>
      after === undefined
        ? { keys: keys.slice(0, 100), next: 'k99' }
        : { keys: keys.slice(100), more: { [KEPT]: KEPT } },
    );
    const text = await bundle(logs, 'configuration.json');
    const read = JSON.parse(text);
    assert.equal(read.keys.length, 150);
    for (const one of read.keys) assert.deepEqual([one.value, one.password], ['[secret]', '[redacted]']);
    assert.deepEqual(read.more, { '[secret]': '[secret]' });
    assert.ok(!text.includes('kept-by'));
  });

  it('is refused where secrets cannot be looked for', async () => {
    await using logs = await startLogs();
    answers(logs, 'system.version', async () => ({ version: KEPT }));
    assert.match(await bundle(logs, 'versions.json'), /kept-by/);
    const failed = async () => {
      throw new CoreError('UNAVAILABLE', { what: 'the scan', reason: 'it failed' });
    };
    await logs.host.appear(secretScan, { hide: failed });
    assert.equal(await codeOf(bundle(logs, 'versions.json')), 'UNAVAILABLE');
  });

  it('is asked for in the name of the caller, and there are no others', async () => {
    await using logs = await startLogs();
    const callers: unknown[] = [];
    answers(logs, 'system.health', async (_, { caller }) => {
      callers.push(caller);
      return { status: 'ok' };
    });
    await bundle(logs, 'health.json', { caller: PAGE });
    assert.deepEqual(callers, [PAGE]);
    for (const name of ['passwords.json', '../core.log', ''])
      assert.equal(await codeOf(bundle(logs, name)), 'PARAMS_INVALID', name);
    assert.notEqual(await codeOf(bundle(logs, 'ledger.json')), 'no error');
  });

  it('is the journal of the units, an entry each, however many lines a message has', async (context) => {
    await using logs = await startLogs({}, undefined, 'inline');
    await logs.host.appear(secretScan, { hide });
    const said = { __REALTIME_TIMESTAMP: '1763912345678901', SYSLOG_IDENTIFIER: 'device-core', _PID: '7' };
    journalctl(context, [
      { ...said, MESSAGE: `first\nit is ${KEPT}`, CORE_PLUGIN: 'spi', CORE_FIELDS: JSON.stringify({ n: 1, a: KEPT }) },
      { ...said, MESSAGE: [...Buffer.from('no text \u001b[1m')], _PID: undefined },
      { ...said, MESSAGE: ['one', 'two'] },
    ]);
    const lines = (await bundle(logs, 'journal.txt')).split('\n');
    assert.deepEqual(lines, [
      '2025-11-23T15:39:05.678Z device-core[7] spi: first',
      'it is [secret] {"n":1,"a":"[secret]"}',
      '2025-11-23T15:39:05.678Z device-core[]: no text \u001b[1m',
      '2025-11-23T15:39:05.678Z device-core[7]: one two',
      '',
    ]);
  });

  it('says that there is no journal', async (context) => {
    await using logs = await startLogs({}, undefined, 'inline');
    journalctl(context, []);
    assert.equal(await codeOf(bundle(logs, 'journal.txt')), 'UNAVAILABLE');
    process.env.PATH = '/nowhere';
    assert.equal(await codeOf(bundle(logs, 'journal.txt')), 'UNAVAILABLE');
    await using apart = await startLogs({}, undefined, 'process'); // where nothing may be started
    assert.equal(await codeOf(bundle(apart, 'journal.txt')), 'UNAVAILABLE');
  });
});
