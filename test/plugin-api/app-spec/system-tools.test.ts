/** What the system's own tools say of everything that is made of a specification: units that verify, exposure below the bars, profiles that compile. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type AppSpec,
  apparmorOf,
  egressUnitNameOf,
  egressUnitOf,
  unitNameOf,
  unitOf,
} from '@device-core/plugin-api/inside/app-spec';
import { without } from '../../fixtures/debian.ts';
import { specOfGolden } from './golden.ts';
import { MANIFESTS, PATHS } from './manifests.ts';

const run = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, { encoding: 'utf8', timeout: 60_000 });

/** Tenths: the bar of an app without the network, and of any app. A separate /tmp with a size counts as a shared one. */
const ALONE = 6;
const ANY = 15;

describe('systemd finds', { skip: without('systemd') }, () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'dc-units-'));
    // What every guest is bound to.
    writeFileSync(join(folder, 'device-core.service'), '[Service]\nExecStart=/usr/bin/true\n');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function write(name: string, text: string): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  for (const name of Object.keys(MANIFESTS))
    it(`nothing to complain about in the unit of ${name}, and its exposure below the bar`, () => {
      // systemd looks whether the program is there.
      const spec: AppSpec = { ...specOfGolden(name), program: '/usr/bin/true' };
      const egress = egressUnitOf(spec, PATHS);
      const files = [
        ...(egress === undefined ? [] : [write(egressUnitNameOf(spec), egress)]),
        write(unitNameOf(spec), unitOf(spec, PATHS)),
      ];
      for (const file of files) {
        const { status, stderr } = run('systemd-analyze', 'verify', '--man=no', file);
        assert.deepEqual([status, stderr], [0, '']);
        const bar = spec.network === 'none' ? ALONE : ANY;
        const seen = run('systemd-analyze', 'security', '--offline=true', `--threshold=${bar}`, '--no-pager', file);
        assert.equal(seen.status, 0, seen.stdout.split('\n').at(-2));
      }
    });

  it('the same of a plugin', () => {
    const { shared: _, ...app } = specOfGolden('nothing');
    const spec: AppSpec = { ...app, kind: 'plugin', id: 'weather', name: 'plugin-weather', program: '/usr/bin/true' };
    const { status, stderr } = run(
      'systemd-analyze',
      'verify',
      '--man=no',
      write(unitNameOf(spec), unitOf(spec, PATHS)),
    );
    assert.deepEqual([status, stderr], [0, '']);
    assert.doesNotMatch(unitOf(spec, PATHS), /LoadCredential/);
  });
});

describe('AppArmor takes', { skip: without('apparmor') }, () => {
  for (const name of Object.keys(MANIFESTS))
    it(`the profile of ${name}`, () => {
      const { status, stderr } = spawnSync('apparmor_parser', ['-Q', '-K', '-S'], {
        input: apparmorOf(specOfGolden(name)),
        timeout: 60_000,
      });
      // Where the kernel has no AppArmor it says so, and compiles.
      const complaints = stderr
        .toString()
        .split('\n')
        .filter((line) => !/^(Cache read|$)/.test(line));
      assert.deepEqual([status, complaints], [0, []]);
    });

  it('a profile whose paths have what means something to it', () => {
    const code = '/srv/a "b" *?[c]{d,e}^f @{HOME} !x|y';
    const spec: AppSpec = { ...specOfGolden('nothing'), code, files: { read: [code], write: [] } };
    const { status, stderr } = spawnSync('apparmor_parser', ['-Q', '-K', '-S'], {
      input: apparmorOf(spec),
      timeout: 60_000,
    });
    assert.equal(status, 0, stderr.toString());
  });
});
