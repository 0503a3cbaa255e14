/** What the factory wrote of one device, where an operator looks. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { DEVICE_FILE, parseDeviceFile } from '@device-core/plugin-api/inside/device-file';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../../fixtures/core.ts';

after(leakCheck());

const OPERATOR = { kind: 'operator', id: 'operator' } as const;
const APP = { kind: 'app', id: 'com.example.a' } as const;

describe('device.yaml', () => {
  for (const [what, text, file, problem] of [
    [
      'has id, serial and calibration',
      'id: kiosk-7\nserial: SN 1\ncalibration: { glass: 2 }\n',
      { id: 'kiosk-7', serial: 'SN 1', calibration: { glass: 2 } },
      undefined,
    ],
    ['may have none of them', '# nothing yet\n', {}, undefined],
    ['is named where it is no YAML, with the line', 'id: kiosk-7\nserial: "SN\n', {}, /^line [23]: /],
    ['is named where it is a list', '- id\n', {}, /no mapping/],
    ['is named where it is a text', 'kiosk-7\n', {}, /no mapping/],
    ['keeps what is right beside a wrong id', 'id: a b\nserial: SN 1\n', { serial: 'SN 1' }, /^id is none/],
    [
      'keeps what is right beside a serial that is too long',
      `id: a\nserial: ${'x'.repeat(129)}\n`,
      { id: 'a' },
      /^serial is none/,
    ],
    [
      'keeps what is right beside a calibration that is a list',
      'id: a\ncalibration: [1]\n',
      { id: 'a' },
      /^calibration is none/,
    ],
    ['has no other member', 'id: a\ncolour: red\n', { id: 'a' }, /^colour is none/],
    ['has no member of the language', 'id: a\nconstructor: red\n', { id: 'a' }, /^constructor is none/],
  ] as const)
    it(what, () => {
      const read = parseDeviceFile(text);
      assert.deepEqual(read.file, file);
      if (problem) assert.match(read.problem ?? '', problem);
      else assert.equal(read.problem, undefined);
    });
});

describe('system.device', () => {
  it('tells the file as it is now, nothing without one, and nothing to an app', async () => {
    await using core = await startCore({ plugins: { operations: '^1.0.0', system: '^1.0.0' } });
    const ask = (caller: typeof OPERATOR | typeof APP) =>
      core
        .service(operations)
        .invoke('system.device', {}, { caller, signal: AbortSignal.timeout(10_000), deadline: Date.now() + 10_000 });
    assert.deepEqual(await ask(OPERATOR), {});
    const path = join(core.paths.etc, DEVICE_FILE);
    writeFileSync(path, 'id: kiosk-7\nserial: SN 1\n');
    assert.deepEqual(await ask(OPERATOR), { id: 'kiosk-7', serial: 'SN 1' });
    writeFileSync(path, 'serial: SN 1\ncolour: red\n');
    const { problem, ...rest } = (await ask(OPERATOR)) as { readonly problem: string };
    assert.deepEqual(rest, { serial: 'SN 1' });
    assert.match(problem, /device\.yaml: colour is none/);
    await assert.rejects(ask(APP), { code: 'CAPABILITY_DENIED' });
  });
});
