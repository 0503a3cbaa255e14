/** Memory that a guest keeps beside what is resident counts, and its file systems in memory end at its budget. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { without } from '../../fixtures/debian.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { WITHOUT_BWRAP, withoutWalls } from '../../fixtures/walls.ts';
import { openSupervisor } from './fixture.ts';

after(leakCheck());

const PYTHON = '/usr/bin/python3';
const skip = WITHOUT_BWRAP || without('python3');
const MIB = 1024 * 1024;
const STAY = 'print("done", flush=True); import time; time.sleep(1000)';

/** Kept megabytes, and the budget in which they are looked at. */
const KEPT: Readonly<Record<string, readonly [code: string, keptMB: number]>> = {
  'files in /tmp': ["open('/tmp/a', 'wb').write(bytes(20 << 20))", 20],
  'files in /dev/shm that have no name any more': [
    "import os; f = open('/dev/shm/a', 'wb'); f.write(bytes(20 << 20)); f.flush(); os.unlink('/dev/shm/a')",
    20,
  ],
  'a memfd that is written and not mapped': ["import os; os.write(os.memfd_create('a'), bytes(20 << 20))", 20],
  'a memfd that is mapped, once': [
    "import os, mmap; d = os.memfd_create('a'); os.ftruncate(d, 20 << 20); m = mmap.mmap(d, 20 << 20); m.write(bytes(20 << 20))",
    20,
  ],
  'a mapped file in memory, once': [
    "import mmap; f = open('/tmp/a', 'w+b'); f.truncate(20 << 20); m = mmap.mmap(f.fileno(), 20 << 20); m.write(bytes(20 << 20))",
    20,
  ],
  'many empty files in memory': ["[open(f'/tmp/{i}', 'w').close() for i in range(20480)]", 20],
};

describe('memory of a guest counts', { skip }, () => {
  for (const [what, [code, keptMB]] of Object.entries(KEPT))
    it(what, async () => {
      await using bench = await openSupervisor('bubblewrap', { program: PYTHON, args: ['-c', `${code}; ${STAY}`] });
      const spec = await bench.spec('demo', '');
      const { run } = await bench.supervisor.start(spec, { token: 't'.repeat(20) });
      await eventually(
        async () => (await bench.supervisor.output('demo', 10)).some(({ text }) => text === 'done'),
        'the memory is taken',
      );
      const { memory } = await bench.supervisor.usage(run);
      const beside = memory / MIB - keptMB;
      // The interpreter itself, and what it read the bytes from.
      assert.ok(beside > 0 && beside < keptMB, `${memory / MIB} MB`);
    });
});

/** A hostile program, and the end that it comes to. */
const REFUSED: Readonly<Record<string, readonly [code: string, said: RegExp]>> = {
  'files of /tmp and /dev/shm together are no larger than its budget': [
    `
n = 0
for place in ('/tmp', '/dev/shm'):
  for i in range(150):
    try:
      with open(f'{place}/{i}', 'wb', buffering=0) as f: n += f.write(bytes(4 << 20))
    except OSError as e: why = e.strerror; break
print(n >> 20, why, flush=True)`,
    /^(9[0-6]) No space left on device$/,
  ],
  'nothing is written to the folder of devices': [
    `
try: open('/dev/a', 'w')
except OSError as e: print(e.strerror, flush=True)`,
    /^Read-only file system$/,
  ],
  'memory of System V, which no process has, is refused': [
    `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print([call(0, 4096, 0o1600) for call in (libc.shmget, libc.semget)] + [libc.msgget(0, 0o1600)], ctypes.get_errno(), flush=True)`,
    /^\[-1, -1, -1\] 1$/,
  ],
};

describe('a guest is refused by the system:', { skip }, () => {
  for (const [what, [code, said]] of Object.entries(REFUSED))
    it(what, async () => {
      await using bench = await openSupervisor('bubblewrap', { program: PYTHON, args: ['-c', code] });
      const spec = await bench.spec('demo', '');
      const limits = { ...spec.limits, memoryMaxMB: 96 };
      const { run } = await bench.supervisor.start({ ...spec, limits }, { token: 't'.repeat(20) });
      await bench.supervisor.ended(run);
      const lines = (await bench.supervisor.output('demo', 10)).map(({ text }) => text);
      assert.match(lines.join('\n'), said);
    });
});

it('with bare namespaces its files in memory have a size, and count, too', {
  skip: withoutWalls('namespaces') || without('python3'),
}, async () => {
  const code = `
n = 0
try:
  for i in range(150):
    with open(f'/dev/shm/{i}', 'wb', buffering=0) as f: n += f.write(bytes(4 << 20))
except OSError as e: print(f'{n >> 20} {e.strerror}', flush=True)
${STAY}`;
  await using bench = await openSupervisor('namespaces', { program: PYTHON, args: ['-c', code] });
  const spec = await bench.spec('demo', '');
  const { run } = await bench.supervisor.start(spec, { token: 't'.repeat(20) });
  await eventually(
    async () => (await bench.supervisor.output('demo', 10)).some(({ text }) => text === '64 No space left on device'),
    'half of its budget is full',
  );
  const { memory } = await bench.supervisor.usage(run);
  assert.ok(memory > 64 * MIB && memory < 100 * MIB, `${memory / MIB} MB`);
});

it('a guest over its budget by a memfd is ended, and told why', { skip }, async () => {
  const code = `import os; [os.write(os.memfd_create('a'), bytes(4 << 20)) for _ in range(60)]; ${STAY}`;
  await using bench = await openSupervisor('bubblewrap', { program: PYTHON, args: ['-c', code] });
  const spec = await bench.spec('demo', '');
  const limits = { ...spec.limits, memoryMaxMB: 96 };
  const { run } = await bench.supervisor.start({ ...spec, limits }, { token: 't'.repeat(20) });
  const end = await bench.supervisor.ended(run);
  assert.equal(end.cause, 'memory');
  assert.match(end.reason ?? '', /^it took 2\d\d MB of memory, and its budget is 96 MB/);
});
