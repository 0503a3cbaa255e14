/** The gate: what makes a new image a bad one, and who says so. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError, type HookCaller } from '@device-core/plugin-api';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import {
  type Before,
  beforeOf,
  faultOf,
  judged,
  type Look,
  lookAt,
  probation,
  textOf,
} from '../../../plugins/life/updater/gate.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const GOOD: Look = {
  plugins: [
    { id: 'http', state: 'active', essential: true },
    { id: 'nfc', state: 'failed', essential: false },
  ],
  components: { http: { status: 'okay' }, nfc: { status: 'error' } },
  apps: [
    { id: 'com.example.a', state: 'running', always: true },
    { id: 'com.example.rests', state: 'stopped', always: false },
  ],
  p99Ms: 20,
};
const BEFORE: Before = { image: 'x', errors: ['nfc'], apps: ['com.example.a', 'com.example.rests'], p99Ms: 30 };
const app = (state: string) =>
  ({ apps: [{ id: 'com.example.a', state, always: true, reason: 'exit code 1' }] }) as Partial<Look>;

/** What is seen, what it was before, and the fault; `undefined`: it is good. */
const TABLE: readonly (readonly [string, Partial<Look>, Before | undefined, string | undefined])[] = [
  ['all is as it was', {}, BEFORE, undefined],
  [
    'an essential plugin failed',
    { plugins: [{ id: 'http', state: 'failed', essential: true, reason: 'no port' }] },
    BEFORE,
    'essential: plugin http is failed: no port',
  ],
  [
    'an essential plugin is in quarantine, and nothing is known of before',
    { plugins: [{ id: 'http', state: 'quarantined', essential: true }] },
    undefined,
    'essential: plugin http is quarantined',
  ],
  [
    'a component is in error that was not',
    { components: { display: { status: 'error', message: 'no light' } } },
    BEFORE,
    'component: display is in error, which it was not before: no light',
  ],
  [
    'a component is in error, and nothing is known of before',
    { components: { display: { status: 'error' } } },
    undefined,
    undefined,
  ],
  ['a component waits', { components: { display: { status: 'waiting' } } }, BEFORE, undefined],
  ['an app failed', app('failed'), BEFORE, 'app: app com.example.a ran before and is failed: exit code 1'],
  ['an app is stopped', app('stopped'), BEFORE, 'app: app com.example.a ran before and is stopped: exit code 1'],
  ['an app is gone', { apps: [] }, BEFORE, 'app: app com.example.a ran before and is gone'],
  ['an app is gone, and nothing is known of before', { apps: [] }, undefined, undefined],
  [
    'an app that did not run failed',
    { apps: [...GOOD.apps, { id: 'com.example.new', state: 'failed', always: true }] },
    BEFORE,
    undefined,
  ],
  ['the loop is twice as slow', { p99Ms: 60 }, BEFORE, undefined],
  ['the loop is slower than that', { p99Ms: 61 }, BEFORE, 'event-loop: 99 of 100 turns take up to 61 ms, before 30'],
  ['the loop was very fast, and is fast', { p99Ms: 50 }, { ...BEFORE, p99Ms: 1 }, undefined],
  ['the loop is slow, and nothing is known of before', { p99Ms: 900 }, undefined, undefined],
];

const hook = (promise: () => Promise<CoreError | undefined>, unanswered: readonly string[] = []) =>
  ({ promise, unanswered: async () => unanswered }) as object as HookCaller<'update.judge'>;

describe('the gate', () => {
  for (const [what, more, before, fault] of TABLE)
    it(`says ${fault === undefined ? 'yes' : 'no'} where ${what}`, () => {
      const found = faultOf({ ...GOOD, ...more }, before);
      assert.equal(found && textOf(found), fault);
    });

  it('remembers what was in error, which apps ran, and how fast the loop was', () => {
    assert.deepEqual(beforeOf(GOOD, 'x'), { image: 'x', errors: ['nfc'], apps: ['com.example.a'], p99Ms: 20 });
  });

  it("takes the loop's own delays: others who keep the processors busy are no fault of an image", async () => {
    const loop = { p50Ms: 1, maxMs: 900, utilization: 0, stalls: 9, unattributed: 0 };
    for (const [told, p99Ms] of [
      [{ p99Ms: 700, ownP99Ms: 12 }, 12],
      [{ p99Ms: 700 }, 700],
    ] as const) {
      const manager = { list: async () => [], eventLoop: async () => ({ ...loop, ...told }) } as Partial<PluginManager>;
      await using owner = part(virtualClock());
      const look = await lookAt({ manager: manager as PluginManager }, owner.scope);
      assert.equal(look.p99Ms, p99Ms);
    }
  });

  const tried = async (looks: (at: number) => Look, probationMs = 10_000) => {
    const clock = virtualClock();
    const told = probation({
      look: async () => looks(clock.monotonic()),
      before: BEFORE,
      probationMs,
      judge: async () => undefined,
      sleep: (ms) => clock.sleep(ms),
      elapsed: () => clock.monotonic(),
    });
    const fault = await clock.until(told);
    return { fault, at: clock.monotonic() };
  };

  it('takes its time where all is well, and no time where an essential plugin failed', async () => {
    assert.deepEqual(await tried(() => GOOD), { fault: undefined, at: 10_000 });
    const failed = { ...GOOD, plugins: [{ id: 'http', state: 'failed', essential: true }] } as Look;
    const { fault, at } = await tried((now) => (now >= 4_000 ? failed : GOOD));
    assert.deepEqual([fault?.check, at], ['essential', 4_000]);
  });

  it('forgives what passes, also at the very end', async () => {
    const bad = { ...GOOD, components: { display: { status: 'error' } } } as Look;
    assert.equal((await tried((now) => (now < 9_000 ? bad : GOOD))).fault, undefined);
    assert.equal((await tried((now) => (now <= 10_000 ? bad : GOOD))).fault, undefined);
    assert.equal((await tried(() => bad)).fault?.check, 'component');
  });

  const JUDGES: readonly (readonly [string, HookCaller<'update.judge'>, RegExp | undefined])[] = [
    ['is missing', hook(async () => undefined), undefined],
    [
      'says no',
      hook(async () => new CoreError('UNAVAILABLE', { what: 'the kettle', reason: 'cold' })),
      /^judge: cannot reach the kettle: cold$/,
    ],
    ['throws', hook(async () => Promise.reject(new Error('oops'))), /^judge: oops$/],
    ['hangs', hook(() => new Promise(() => undefined), ['oem']), /^judge: oem did not answer: update\.judge timed out/],
  ];
  for (const [what, judge, says] of JUDGES)
    it(`hears a judge that ${what}`, async () => {
      const clock = virtualClock();
      await using owner = part(clock);
      const fault = await clock.until(judged(judge, { state: 'probation' }, owner.scope, 1_000));
      if (says) assert.match(fault ? textOf(fault) : '', says);
      else assert.equal(fault, undefined);
    });
});
