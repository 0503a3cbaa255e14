/** A Core that is not root, with a range of users: the same contract, and what /health and a launch say with a range and without. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { WallsReport } from '@device-core/plugin-api/inside/services/launcher';
import { rangedUser, SPAN, WITHOUT_RANGE } from '../../fixtures/ranged-user.ts';

const CONTRACT = new URL('../../fixtures/ranged-contract.ts', import.meta.url).pathname;
const REPORT = `const { WallLauncher } = await import(process.argv[1]);
process.stdout.write(JSON.stringify(await new WallLauncher('bubblewrap').report()));`;
const LAUNCHER = new URL('../../../kernel/walls/launcher.ts', import.meta.url).href;

describe('a Core that is not root', { skip: WITHOUT_RANGE }, () => {
  it('keeps the contract of supervisors with users of its range', async () => {
    using user = rangedUser();
    // Not as a part of this run: a test file within a test file is skipped by the runner.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const run = ['--test-reporter=tap', '--test-force-exit', CONTRACT, String(SPAN.first)] as const;
    const [command, ...args] = user.words([process.execPath, ...run]);
    // A folder for temporary files may be closed to other users.
    const child = spawn(command, args, { env: { ...env, TMPDIR: '/tmp' }, stdio: ['ignore', 'pipe', 'inherit'] });
    const said = await text(child.stdout);
    const failed = said.split('\n').filter((line) => /^\s*(not ok|error:|# (pass|fail))/.test(line));
    assert.deepEqual(failed.slice(-2), ['# pass 23', '# fail 0'], said);
  });

  const ROWS: readonly (readonly [what: string, lines: string, told: RegExp | undefined])[] = [
    ['a range by name', `other:7:65536\nnobody:${SPAN.first}:${SPAN.count}\n`, undefined],
    ['a range that is too small', 'nobody:100000:40000\n', /give user nobody no range of 65536/],
  ];
  for (const [what, lines, told] of ROWS)
    it(`with ${what} ${told ? 'says why apps have its user' : 'has users for its apps'}`, () => {
      using user = rangedUser(lines);
      const [command, ...args] = user.words([process.execPath, '--input-type=module', '-e', REPORT, LAUNCHER]);
      const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
      const report = JSON.parse(stdout || JSON.stringify({ usersReason: stderr })) as WallsReport;
      if (told) assert.match(report.usersReason ?? '', told);
      else assert.deepEqual([report.users, report.range], [true, { unshare: '/usr/bin/unshare', ...SPAN }]);
    });
});
