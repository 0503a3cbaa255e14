import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type CallContext, CoreError } from '@device-core/plugin-api';
import { newRecord } from '@device-core/plugin-api/inside/boot-record';
import type { BootReport } from '@device-core/plugin-api/inside/boot-report';
import { type Machine, machine } from '@device-core/plugin-api/inside/services/machine';
import { type Slots, slots } from '@device-core/plugin-api/inside/services/slots';
import { type Device, device } from '@device-core/plugin-api/services/device';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import {
  type Operation,
  type OperationInfo,
  type Operations,
  operations,
} from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { makeBoot } from '../../../plugins/life/boot/index.ts';
import { eventually } from '../../fixtures/eventually.ts';

const MANIFEST = 'manifests/plugins/life/boot.yaml';
const folder = mkdtempSync(join(tmpdir(), 'dc-boot-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

const REPORT: BootReport = {
  form: 1,
  loader: 1,
  slot: 'a',
  version: '1.0.0',
  image: 'sha256:00',
  sku: 'tiny',
  safe: false,
  rung: 'normal',
  why: 'slot a is good',
  tries: 0,
  primary: 'a',
  slots: newRecord({}).slots,
  repaired: [],
  problems: [],
  verify: 'full',
  ms: { node: 40, record: 1, verify: 150, write: 2 },
  waited: 0,
  boot: 'x',
  uptime: 5,
};
const SAFE: BootReport = { ...REPORT, safe: true, rung: 'safe', why: 'slot a ended 5 times', pause: 600 };
const REMEDY = 'Install an update that is good, or say that it was seen: devicectl boot seen';
const OPERATOR = { caller: { kind: 'operator' } } as CallContext;

/** The plugin in a world in which `report` is the text of the loader; without one there is no loader. */
async function booted(
  report?: BootReport | string,
  provides: 'machine' | 'nothing' | Machine = 'machine',
  place?: Slots,
  state = mkdtempSync(join(folder, 'state-')),
) {
  const run = mkdtempSync(join(folder, 'run-'));
  const path = join(run, 'boot.json');
  if (report !== undefined) writeFileSync(path, typeof report === 'string' ? report : JSON.stringify(report));
  const clock = virtualClock();
  const acts: object[] = [];
  const table = new Map<string, Operation<never, unknown>>();
  let ends = 0;
  const offered = {
    add(operation) {
      table.set(operation.name, operation);
      return { [Symbol.dispose]: () => void table.delete(operation.name) };
    },
    watch(listener) {
      listener([
        { name: 'system.health', rest: { method: 'GET', path: '/health' } },
        { name: 'plugins.disable', rest: { method: 'POST', path: '/plugins/:id/disable' } },
      ] as unknown as OperationInfo[]);
      return { [Symbol.dispose]: () => undefined };
    },
  } as Partial<Operations> as Operations;
  const here = { info: async () => ({ service: 'device', paths: { run, var: state } }) } as unknown as Device;
  const able: Machine = {
    able: async () => ({ acts: ['restart', 'reboot', 'powerOff'] }),
    act: async (act, options) => void acts.push({ act, ...options }),
  };
  const plugin = makeBoot(report === undefined ? {} : { DEVICE_BOOT: path }, () => {
    ends++;
  });
  const services: unknown[] = [[operations, offered], [device, here], ...(place ? [[slots, place]] : [])];
  if (provides !== 'nothing') services.push([machine, provides === 'machine' ? able : provides]);
  const host = await createTestHost(plugin, { manifest: MANIFEST, services: services as never, clock });
  const call = (name: string, params: object = {}) =>
    table.get(name)!.run(params as never, OPERATOR) as Promise<object>;
  const health = async () => {
    const components: Record<string, { message?: string; status?: string }> = {};
    const warnings: string[] = [];
    const report = {
      add: (id: string, component: object) => Object.assign(components, { [id]: component }),
      warn: (code: string, message: string) => warnings.push(`${code} ${message}`),
    } as unknown as HealthReport;
    await host.hook('health.collect').promise(report);
    return { components, warnings };
  };
  const asks = (operation: string, context = OPERATOR) => host.hook('operation.before').promise(operation, context);
  return { host, clock, acts, table, call, health, asks, state, used: join(run, 'safe-mode-used'), ends: () => ends };
}

describe('where no boot loader started the Core', () => {
  test('it says so in one line, and costs nothing', async () => {
    const { host, call, health, clock } = await booted();
    assert.deepEqual(await call('boot.status'), {
      loader: false,
      why: 'no boot loader started this Core',
      safe: false,
      acts: ['restart', 'reboot', 'powerOff'],
    });
    const { components, warnings } = await health();
    assert.deepEqual([components.boot, warnings], [undefined, []]);
    assert.equal(clock.pending, 0);
    assert.equal(host.hook('operation.before').isUsed(), false);
    await host.stop();
  });

  test('safe mode cannot be asked for, and a report that cannot be read is none', async () => {
    for (const report of [undefined, '', '{"form":2}', '[', 'null']) {
      const { host, call } = await booted(report);
      await assert.rejects(call('system.restart', { safeMode: true }), { code: 'SLOTS_UNAVAILABLE' });
      await host.stop();
    }
  });
});

describe('work of the boot loader', () => {
  test('is the answer of boot.status, and health has its reasons', async () => {
    const { host, call, health } = await booted({
      ...REPORT,
      cause: 'slot a ended 5 times within 10 minutes',
      repaired: ['a/kernel/main.js'],
      problems: ['keys.json: gone'],
    });
    const { form: _, boot: __, uptime: ___, loader: ____, ...rest } = REPORT;
    const said = (await call('boot.status')) as Record<string, unknown>;
    assert.equal(said.loader, true);
    for (const [name, value] of Object.entries(rest))
      if (!['repaired', 'problems'].includes(name)) assert.deepEqual(said[name], value, name);
    const { components, warnings } = await health();
    assert.equal(components.boot?.status, 'blocked');
    assert.deepEqual(warnings, [
      `BOOT_FELL_BACK slot a ended 5 times within 10 minutes; slot a 1.0.0 runs now. ${REMEDY}`,
      'BOOT_REPAIRED 1 damaged files were put right from the other slot: a/kernel/main.js',
      'BOOT_PROBLEM keys.json: gone',
    ]);
    await host.stop();
  });
});

describe('a slot that the loader left', () => {
  const GOOD = { state: 'good', version: '1.0.0', image: 'sha256:00', tries: 0 } as const;
  const bad = (reason: string, image = 'sha256:01'): BootReport => ({
    ...REPORT,
    slots: { a: GOOD, b: { state: 'bad', version: '1.1.0', image, tries: 0, reason } },
  });
  const LEFT: readonly (readonly [title: string, report: BootReport, left: object | undefined, text: RegExp])[] = [
    [
      'is damaged',
      bad('kernel/extra.js: the list does not name it'),
      { slot: 'b', version: '1.1.0', reason: 'kernel/extra.js: the list does not name it' },
      /^slot b 1\.1\.0: kernel\/extra\.js: the list does not name it; slot a 1\.0\.0 runs now\. Install .* devicectl boot seen$/,
    ],
    [
      'was never found good',
      bad('3 starts, and it was never found good; the last one ended: signal killed ABRT'),
      {
        slot: 'b',
        version: '1.1.0',
        reason: '3 starts, and it was never found good; the last one ended: signal killed ABRT',
      },
      /signal killed ABRT; slot a 1\.0\.0 runs now/,
    ],
    [
      'crashed again and again',
      {
        ...REPORT,
        rung: 'other',
        cause: 'slot b ended 5 times within 10 minutes',
        slots: { a: GOOD, b: { ...GOOD, version: '1.1.0' } },
      },
      { slot: 'b', version: '1.1.0', reason: 'slot b ended 5 times within 10 minutes' },
      /^slot b ended 5 times within 10 minutes; slot a 1\.0\.0 runs now/,
    ],
    [
      'is the other one, and good',
      { ...REPORT, slots: { a: GOOD, b: { ...GOOD, version: '0.9.0' } } },
      undefined,
      /^$/,
    ],
    ['is empty', { ...REPORT, slots: newRecord({ a: GOOD }).slots }, undefined, /^$/],
  ];
  for (const [title, report, left, text] of LEFT)
    test(`${title}: ${left ? 'health and boot.status name it' : 'there is nothing to tell'}`, async () => {
      const { host, call, health } = await booted(report);
      const { components, warnings } = await health();
      const told = warnings.filter((one) => one.startsWith('BOOT_FELL_BACK ')).map((one) => one.slice(15));
      assert.equal(told.length, left ? 1 : 0);
      assert.match(told[0] ?? '', text);
      assert.equal(components.boot?.status, left ? 'blocked' : 'okay');
      const { fellBack } = (await call('boot.status')) as { fellBack?: object };
      assert.deepEqual(fellBack, left);
      const event = host.published.filter(({ topic }) => topic === 'system.boot').at(-1);
      assert.deepEqual(event?.payload, { safe: false, ...(left && { fellBack: left }) });
      await host.stop();
    });

  test('is told until a person has seen it, over restarts, and again when another one is left', async () => {
    const warned = async (report: BootReport, state?: string) => {
      const world = await booted(report, 'machine', undefined, state);
      return { ...world, told: async () => (await world.health()).warnings.length > 0 };
    };
    const first = await warned(bad('x is damaged'));
    assert.equal(await first.told(), true);
    assert.deepEqual(await first.call('boot.seen'), { seen: true });
    assert.deepEqual(await first.call('boot.seen'), { seen: false });
    assert.equal(await first.told(), false);
    assert.deepEqual(first.host.published.at(-1)?.payload, { safe: false });
    await first.host.stop();
    for (const [report, expected] of [
      [bad('x is damaged'), false],
      [bad('y is damaged'), true],
      [bad('x is damaged', 'sha256:02'), true],
      [REPORT, false],
    ] as const) {
      const next = await warned(report, first.state);
      assert.equal(await next.told(), expected);
      await next.host.stop();
    }
  });
});

describe('the slots', () => {
  const NOW = {
    name: 'b',
    booted: false,
    primary: true,
    state: 'trial',
    version: '1.1.0',
    image: 'sha256:01',
    tries: 0,
  } as const;
  const told = { provider: 'files', slots: [NOW], primary: 'b', rung: 'normal', floor: { time: 0 }, writer: 'helper' };

  for (const [what, status, says] of [
    [
      'are told as they are now, not as at the start',
      async () => told,
      {
        slots: { b: { state: 'trial', version: '1.1.0', image: 'sha256:01', tries: 0 } },
        primary: 'b',
        slotsAsOf: 'now',
      },
    ],
    [
      'are those of the start where nobody can read them',
      () => Promise.reject(new Error('gone')),
      { slots: REPORT.slots, primary: 'a', slotsAsOf: 'start' },
    ],
    [
      'are those of the start where there is no service for them',
      undefined,
      { slots: REPORT.slots, primary: 'a', slotsAsOf: 'start' },
    ],
  ] as const)
    test(what, async () => {
      const place = status && ({ status } as unknown as Slots);
      const { host, call } = await booted(REPORT, 'nothing', place);
      const { slots: found, primary, slotsAsOf } = (await call('boot.status')) as Record<string, unknown>;
      assert.deepEqual({ slots: found, primary, slotsAsOf }, says);
      await host.stop();
    });
});

describe('safe mode', () => {
  test('without use ends in order after its pause', async () => {
    const { host, clock, ends, health, asks } = await booted(SAFE);
    assert.deepEqual((await health()).warnings, ['BOOT_SAFE_MODE safe mode: slot a ended 5 times']);
    await clock.advance(599_000);
    // Who only looks, and an app, do not use it.
    await asks('system.health');
    await asks('plugins.disable', { caller: { kind: 'app' } } as CallContext);
    assert.equal(ends(), 0);
    await clock.advance(2_000);
    assert.equal(ends(), 1);
    await host.stop();
  });

  test('that follows an end is told with what systemd said of that', async () => {
    const { host, health } = await booted({ ...SAFE, before: 'signal killed SEGV' });
    assert.deepEqual((await health()).warnings, [
      'BOOT_SAFE_MODE safe mode: slot a ended 5 times (the last time: signal killed SEGV)',
    ]);
    await host.stop();
  });

  test('that an operator uses stays, and the boot loader is told', async () => {
    const { host, clock, ends, used, asks } = await booted(SAFE);
    await asks('plugins.disable');
    await eventually(() => existsSync(used), 'the file for the boot loader');
    await clock.advance(86_400_000);
    assert.equal(ends(), 0);
    await host.stop();
  });

  test('that a switch asks for has no end, and the normal start no timer', async () => {
    const { pause: _, ...byHand } = SAFE;
    for (const report of [byHand, REPORT]) {
      const { host, clock } = await booted(report);
      assert.equal(clock.pending, 0);
      await host.stop();
    }
  });
});

describe('acts on the device', () => {
  const poor = (able: Machine['able']): Machine => ({ able, act: async () => undefined });
  for (const [what, report, provides, says] of [
    ['is what the machine says', REPORT, 'machine', { acts: ['restart', 'reboot', 'powerOff'] }],
    [
      'comes in one order, with the reason why it is not all',
      REPORT,
      poor(async () => ({ acts: ['reboot', 'restart'], reason: 'logind does not let the Core do it' })),
      { acts: ['restart', 'reboot'], actsReason: 'logind does not let the Core do it' },
    ],
    [
      'is nothing where the machine cannot say it',
      REPORT,
      poor(() => Promise.reject(new Error('the bus is gone'))),
      { acts: [], actsReason: 'the bus is gone' },
    ],
    [
      'is a restart in safe mode, which has no machine',
      SAFE,
      'nothing',
      { acts: ['restart'], actsReason: 'no plugin here provides the machine' },
    ],
    [
      'is nothing where nobody would start the Core again',
      undefined,
      'nothing',
      { acts: [], actsReason: 'no plugin here provides the machine' },
    ],
  ] as const)
    test(what, async () => {
      const { host, call } = await booted(report, provides);
      const { acts, actsReason } = (await call('boot.status')) as Record<string, unknown>;
      assert.deepEqual({ acts, ...(actsReason !== undefined && { actsReason }) }, says);
      await host.stop();
    });

  test('is nothing where the machine gives no answer, and the wait for it is short', async () => {
    const { host, call, clock } = await booted(
      REPORT,
      poor(() => new Promise(() => undefined)),
    );
    const asked = call('boot.status');
    await clock.advance(3_000);
    const { acts, actsReason } = (await asked) as { readonly acts: object; readonly actsReason: string };
    assert.deepEqual(acts, []);
    assert.match(actsReason, /the machine timed out/);
    await host.stop();
  });
});

describe('restarts', () => {
  for (const act of ['restart', 'reboot', 'powerOff'] as const)
    test(`system.${act} is asked of the machine, with safe mode where it is wanted`, async () => {
      const { host, call, acts, table } = await booted(REPORT);
      assert.ok(table.get(`system.${act}`)!.sensitive);
      assert.equal(table.get(`system.${act}`)!.capability, 'system.power');
      assert.deepEqual(await call(`system.${act}`), { act, safeMode: false });
      await call(`system.${act}`, { safeMode: true });
      assert.deepEqual(acts, [
        { act, safeMode: false },
        { act, safeMode: true },
      ]);
      await host.stop();
    });

  test('safe mode that no helper can ask for is refused with what to do instead', async () => {
    const bound = new CoreError('SLOTS_UNAVAILABLE', { verb: 'reboot', reason: 'no helper of root is here' });
    const poor: Machine = { able: async () => ({ acts: [] }), act: () => Promise.reject(bound) };
    const { host, call } = await booted(REPORT, poor);
    await assert.rejects(call('system.reboot'), { message: bound.message });
    await assert.rejects(call('system.reboot', { safeMode: true }), {
      code: 'SLOTS_UNAVAILABLE',
      message: /no helper of root is here; make the file \/var\/lib\/device-system\/boot\/safe-mode as root, and start/,
    });
    await host.stop();
  });

  test('without a machine the Core can still be restarted where a loader starts it again, and nothing else', async () => {
    const { host, call, clock, ends } = await booted(SAFE, 'nothing');
    for (const [name, params] of [
      ['system.reboot', {}],
      ['system.powerOff', {}],
      ['system.restart', { safeMode: true }],
    ] as const)
      await assert.rejects(call(name, params), (error) => error instanceof CoreError);
    await call('system.restart');
    await clock.advance(1_000);
    assert.equal(ends(), 1);
    await host.stop();
  });
});
