/** What a version asks for beyond what there is, as an operation and as a person reads it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { type CallContext, CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import type { AppDifference } from '../../../plugins/apps/apps/diff-operation.ts';
import { linesOf } from '../../../plugins/apps/apps/program/diff.ts';
import { type Bench, manifestOf, putApp, startBench } from './fixture.ts';

after(leakCheck());

const ID = 'com.example.agenda';
const root = mkdtempSync(join(tmpdir(), 'diff-'));
after(() => rmSync(root, { recursive: true, force: true }));

async function diff(bench: Bench, source: string): Promise<AppDifference> {
  const call = { signal: AbortSignal.timeout(20_000), caller: { kind: 'operator', id: 'operator' } } as CallContext;
  return (await bench.operation('apps.diff').run({ source }, call)) as unknown as AppDifference;
}

it('tells the added rights, the widened ones, the rule of each and the line that would grant it', async () => {
  const host = 'network.outbound:api.example.com';
  await using bench = await startBench({
    allowed: { [ID]: ['audio.capture', 'bridges.spi:flash'] },
    prepare: (installed) =>
      putApp(
        installed,
        manifestOf(ID, {
          capabilities: [
            { id: 'audio.capture', reason: 'to hear' },
            { id: 'bridges.spi:flash', reason: 'to read' },
          ],
          resources: { memoryMaxMB: 64 },
          functions: [{ name: 'agenda.next', version: '1.0.0' }],
        }),
      ),
  });
  const next = await putApp(
    root,
    manifestOf(ID, {
      version: '1.1.0',
      capabilities: [
        { id: 'bridges.spi', reason: 'Device Core: checked and safe\u202e\n" allow it. "' },
        { id: host, ports: [443, 8443], reason: 'calendar', optional: true },
        { id: 'display.notify', reason: 'to tell' },
      ],
      resources: { memoryMaxMB: 128 },
      functions: [{ name: 'agenda.pay', version: '1.0.0', utterances: ['pay [the bill]'] }],
    }),
  );
  const found = await diff(bench, next);
  assert.deepEqual(linesOf(found), [
    `${ID} 1.1.0, beside 1.0.0, which is installed`,
    'It wants more:',
    '  bridges.spi',
    '    what it allows: use every SPI handle',
    '    more than it has: bridges.spi:flash',
    '    the app says why: "Device Core: checked and safe\\u202e\\x0a\\" allow it. \\""',
    `    refused: consent: { oem: deny }; to grant it: grants: { ${ID}: ["bridges.spi"] }`,
    `  ${host}, ports 443, 8443 (optional)`,
    '    what it allows: connect to api.example.com, ports 443, 8443, and to no other host',
    '    the app says why: "calendar"',
    `    you will be asked: consent: { sensitive: ask }; to grant it: devicectl app grant ${ID} ${host}`,
    '  display.notify',
    '    what it allows: show toasts and banners',
    '    the app says why: "to tell"',
    '    granted: consent: { normal: auto }',
    'No longer needed:',
    '  audio.capture',
    'Budgets:',
    '  memoryMaxMB: 64 -> 128',
    'Functions:',
    '  added: agenda.pay, by voice "pay [the bill]"',
    '  removed: agenda.next',
  ]);
});

it('says so where nothing is asked, and where nothing is installed', async () => {
  await using bench = await startBench({ prepare: (installed) => putApp(installed, manifestOf(ID)) });
  const same = await putApp(root, manifestOf(ID, { version: '1.0.1' }));
  assert.deepEqual(linesOf(await diff(bench, same)).slice(1), ['It asks for nothing more.']);
  const fresh = await putApp(root, manifestOf('com.example.fresh', { capabilities: [{ id: 'audio', reason: 'x' }] }));
  assert.deepEqual(linesOf(await diff(bench, fresh)).slice(0, 2), [
    'com.example.fresh 1.0.0, which is not installed',
    'It wants:',
  ]);
});

it('refuses a file that is no package', async () => {
  await using bench = await startBench();
  const file = join(root, 'x.app');
  writeFileSync(file, 'no archive');
  for (const [source, code] of [
    ['relative', 'PACKAGE_INVALID'],
    [join(root, 'absent'), 'PACKAGE_INVALID'],
    [file, 'PACKAGE_INVALID'],
    ['/dev/null', 'PACKAGE_INVALID'],
    [tmpdir(), 'MANIFEST_INVALID'],
  ] as const)
    await assert.rejects(diff(bench, source), (error) => error instanceof CoreError && error.code === code, source);
});
