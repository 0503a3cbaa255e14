/** A guest that forks without end is stopped by the system near its budget, and ended for it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, it } from 'node:test';
import { bwrapOf } from '@device-core/plugin-api/inside/sandbox';
import { leakCheck } from '@device-core/plugin-api/testing';
import { systemFiles, taskCounter } from '../../../kernel/walls/tools.ts';
import { groupPlaces, TaskGroups } from '../../../plugins/apps/supervisor-process/task-group.ts';
import { without } from '../../fixtures/debian.ts';
import { shellSpec } from '../../fixtures/guest-spec.ts';
import { WITHOUT_BWRAP } from '../../fixtures/walls.ts';
import { openSupervisor } from './fixture.ts';

after(leakCheck());

const counter = await taskCounter('/usr/bin/prlimit');
// No count of a user namespace holds for root.
const counted = TaskGroups.open() !== undefined || (counter !== undefined && process.geteuid?.() !== 0);
const noLimit = !counted && 'the system limits no tasks of a guest here';

const PYTHON = '/usr/bin/python3';
const noPython = without('python3');
/** Children that stay, as many as the system gives; it says how many. */
const BOMB = `
import os, time
n = 0
try:
  while n < 200:
    if os.fork() == 0: time.sleep(1000)
    n += 1
except OSError as e: print(f'{n} {e.strerror}', flush=True)
else: print(n, 'no limit', flush=True)
time.sleep(1000)`;
const SAID = /^(\d+) Resource temporarily unavailable$/;

function assertFew(said: string): void {
  const count = Number(SAID.exec(said.trim())?.[1]);
  assert.ok(count >= 4 && count < 16, said);
}

it('the system refuses a guest processes beyond its budget, and the Core ends it', {
  skip: WITHOUT_BWRAP || noPython || noLimit,
}, async () => {
  await using bench = await openSupervisor('bubblewrap', { program: PYTHON, args: ['-c', BOMB] });
  const spec = await bench.spec('demo', '');
  assert.equal((await bench.supervisor.enforcement()).enforced.tasks, 'kernel');
  const { run } = await bench.supervisor.start(
    { ...spec, limits: { ...spec.limits, tasksMax: 8 } },
    { token: 't'.repeat(20) },
  );
  const end = await bench.supervisor.ended(run);
  assertFew((await bench.supervisor.output('demo', 10)).map(({ text: line }) => line).join('\n'));
  assert.match(end.reason ?? '', /^it had \d+ processes and threads, and its budget is 8$/);
});

const noCounter = counter === undefined && 'the system does not count the tasks of a user namespace';
it('the count of a user namespace refuses processes beyond the budget, and leaves out others of its user', {
  skip: WITHOUT_BWRAP || noPython || noCounter,
}, async () => {
  await using folder = temporary();
  const spec = await shellSpec(folder.path, 'demo', '', { program: PYTHON, args: ['-c', BOMB], cwd: '/' });
  const files = { read: [], write: [] };
  const args = bwrapOf(
    { ...spec, files, sockets: [], limits: { ...spec.limits, tasksMax: 8 } },
    { system: systemFiles(), counter: counter! },
  );
  const words = ['/usr/bin/bwrap', ...args];
  // No limit of tasks holds for root.
  const user =
    process.geteuid?.() === 0 ? ['/usr/bin/setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
  const [command = '', ...rest] = [...user, ...words];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
  const said = text(
    child.stdout.take(1).map((chunk: Buffer) => {
      child.kill('SIGKILL');
      return chunk;
    }),
  );
  assertFew(await said);
});

it('a control group is made where the Core may make it: in its group, or beside it in its unit', async () => {
  const rows: readonly (readonly [
    what: string,
    self: string,
    folder: string,
    files: Readonly<Record<string, string>>,
    made: string | undefined,
  ])[] = [
    ['version 1', '8:cpu,pids:/a\n0::/\n', 'pids/a', {}, 'pids/a'],
    [
      'a part of a unit',
      '0::/x.slice/core.service/main\n',
      'x.slice/core.service/main',
      { 'x.slice/core.service/cgroup.controllers': 'cpu pids', 'x.slice/core.service/cgroup.procs': '' },
      'x.slice/core.service',
    ],
    [
      'a unit without a part',
      '0::/x.slice/core.service\n',
      'x.slice/core.service',
      { 'x.slice/cgroup.controllers': 'cpu pids' },
      undefined,
    ],
    [
      'a unit that is not delegated to it',
      '0::/x.slice/core.service/main\n',
      'x.slice/core.service/main',
      { 'x.slice/core.service/cgroup.controllers': 'cpu' },
      undefined,
    ],
    ['no group at all', '', 'pids', {}, undefined],
  ];
  for (const [what, self, own, files, made] of rows) {
    await using folder = temporary();
    mkdirSync(join(folder.path, own), { recursive: true });
    const selfFile = join(folder.path, 'self');
    writeFileSync(selfFile, self);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder.path, name), content);
    const places = groupPlaces(folder.path, selfFile);
    assert.deepEqual(places, made === undefined ? [] : [join(folder.path, made)], what);
  }
});

function temporary() {
  const path = mkdtempSync(join(tmpdir(), 'tasks-'));
  return { path, [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }) };
}
