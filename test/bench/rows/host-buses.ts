/** Rows 141 and 142: the bodies of a class beside a bare call of the kernel, and a Core whose host buses all hang. */
import { stat } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { openAdapter } from '../../../plugins/hardware/host-i2c/adapter.ts';
import { I2C, rdwrRequest, type Transfer } from '../../../plugins/hardware/host-i2c/structs.ts';
import { OP, transferBody } from '../../../plugins/hardware/i2c/messages.ts';
import { FakeKernel } from '../../fixtures/fake-kernel.ts';
import { hangingBuses } from '../../fixtures/hanging-buses.ts';
import { type Measured, measureCpu, quartiles, type Row } from '../harness.ts';

const CALLS = 20_000;
const ADDRESS = 0x50;

/** A register and 32 bytes, from a driver that returns at once: all that is left is the way to it. */
async function overBareCall(rounds: number): Promise<Measured> {
  const kernel = new FakeKernel();
  kernel.nodes.set('/dev/i2c-1', {
    ioctl(request, argument) {
      if (request === I2C.funcs) (argument as Buffer).writeUInt32LE(1);
      return 0;
    },
  });
  const adapter = await openAdapter({ name: 'i2c-1', path: '/dev/i2c-1' }, kernel, '/nowhere');
  const fd = kernel.open('/dev/i2c-1');
  const handle = { name: 'memory', endpoint: 'i2c-1', address: ADDRESS };
  const written = Buffer.from([4]);
  const segments = [
    { read: false, length: 1 },
    { read: true, length: 32 },
  ];
  const bare = async () => {
    const transfer: Transfer = { address: ADDRESS, tenBit: false, segments, written };
    const { argument, answer } = rdwrRequest(transfer, kernel.pointerBytes, () => kernel.address());
    await kernel.wait(fd, I2C.rdwr, argument);
    return answer();
  };
  const byClass = () =>
    adapter.request(OP.transfer, transferBody(handle, [{ write: written }, { read: 32 }]), { deadlineMs: 100 });
  const cost = async (call: () => unknown): Promise<number> => {
    const { cpu } = await measureCpu(async () => {
      for (let i = 0; i < CALLS; i++) await call();
    });
    kernel.requests.length = 0;
    return cpu / CALLS;
  };
  const sides: (readonly [ours: number, theirs: number])[] = [];
  for (let round = -2; round < rounds; round++) {
    const ours = await cost(byClass);
    const theirs = await cost(bare);
    if (round >= 0) sides.push([ours, theirs]);
  }
  adapter.close();
  kernel.close(fd);
  const shown = (side: 0 | 1) => `${quartiles(sides.map((pair) => pair[side])).median.toFixed(2)} us`;
  return { ...quartiles(sides.map(([ours, theirs]) => ours - theirs)), ours: shown(0), theirs: shown(1) };
}

const p99 = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!;
const one = (value: number): Measured => ({ ...quartiles([value]), ours: `${value.toFixed(1)} ms` });

async function whileBusesHang(looks: number) {
  await using device = await hangingBuses();
  const loop = monitorEventLoopDelay({ resolution: 1 });
  const stats: number[] = [];
  const answers: number[] = [];
  const timed = async (into: number[], work: Promise<unknown>) => {
    const began = performance.now();
    await work;
    into.push(performance.now() - began);
  };
  loop.enable();
  for (let look = 0; look < looks; look++) {
    await timed(stats, stat('/'));
    if (look % 10 === 0) await timed(answers, device.health());
    await sleep(1);
  }
  loop.disable();
  if (device.returned > 0) throw new Error('a driver returned: this measures nothing');
  return {
    'stat, p99': one(p99(stats)),
    'delay of the loop beyond its ms, p99': one(loop.percentile(99) / 1e6 - 1),
    'GET /health, p99': one(p99(answers)),
  };
}

export const rows: readonly Row[] = [
  {
    id: 141,
    title: 'Host I2C, a register and 32 bytes: the class over a bare call, CPU',
    goals: [{ name: 'more than bare', goal: 1.5, unit: 'us' }],
    run: async ({ quick }) => ({ 'more than bare': await overBareCall(quick ? 5 : 15) }),
  },
  {
    id: 142,
    title: 'Four host buses hang in their drivers: files, event loop, health',
    goals: [
      { name: 'stat, p99', goal: 20, unit: 'ms' },
      { name: 'delay of the loop beyond its ms, p99', goal: 10, unit: 'ms' },
      { name: 'GET /health, p99', goal: 100, unit: 'ms' },
    ],
    run: ({ quick }) => whileBusesHang(quick ? 300 : 2_000),
  },
];
