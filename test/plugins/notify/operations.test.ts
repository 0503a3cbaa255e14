/** notify.list and notify.dismiss: who sees what, and the service behind them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { notifications } from '@device-core/plugin-api/services/display';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { AGENDA, type Bench, boot, EAR } from './fixture.ts';

after(leakCheck());

const asApp = (id: string): Caller => ({ kind: 'app', id });
type Told = {
  readonly notifications: readonly { readonly id: string; readonly app?: string; readonly state: string }[];
};

async function three(): Promise<Bench> {
  const bench = await boot();
  bench.publish(AGENDA, 'ui.toast', { text: 'a', level: 'info', durationMs: 10_000 });
  bench.publish(EAR, 'ui.toast', { text: 'b', level: 'info' });
  bench.publish(undefined, 'ui.banner', { action: 'show', text: 'c', level: 'warn' });
  await eventually(async () => (await bench.list()).length === 3, 'three notifications');
  return bench;
}

describe('notify.list', () => {
  const CASES: readonly (readonly [who: string, caller: Caller | undefined, apps: readonly (string | undefined)[]])[] =
    [
      ['the operator sees all', undefined, [undefined, EAR, AGENDA]],
      ['an app sees its own', asApp(AGENDA), [AGENDA]],
      ['an app that told nothing sees nothing', asApp('com.example.other'), []],
      ['a plugin without system.display sees nothing', { kind: 'plugin', id: 'home' }, []],
    ];
  for (const [who, caller, expected] of CASES)
    it(who, async () => {
      await using bench = await three();
      const told = (await bench.run('notify.list', {}, caller)) as Told;
      assert.deepEqual(
        told.notifications.map(({ app }) => app),
        expected,
      );
    });

  it('an app with system.display sees all', async () => {
    await using bench = await three();
    await bench.host.grants.set(asApp(EAR), ['system.display']);
    assert.equal(((await bench.run('notify.list', {}, asApp(EAR))) as Told).notifications.length, 3);
  });

  it('texts that no scene takes are told as they can be drawn', async () => {
    await using bench = await boot();
    bench.publish(AGENDA, 'ui.toast', { text: 'a\u0000\u001b[31mb\tc\nd\ud800', level: 'info' });
    await eventually(async () => (await bench.list())[0]?.text === 'a [31mb c\nd\ufffd', 'a text without them');
  });
});

describe('notify.dismiss', () => {
  it('takes a toast away for its app; that of another is not there', async () => {
    await using bench = await three();
    const [, ear, agenda] = await bench.list();
    await assert.rejects(
      bench.run('notify.dismiss', { id: ear?.id }, asApp(AGENDA)),
      /NOTIFICATION_NOT_FOUND|no notification/,
    );
    await bench.run('notify.dismiss', { id: agenda?.id }, asApp(AGENDA));
    await eventually(async () => (await bench.list())[2]?.state === 'dismissed', 'the toast is dismissed');
    await eventually(() => bench.screen.texts('toast').at(-1) === 'b', 'the next one');
  });

  it('refuses an unknown notification', async () => {
    await using bench = await three();
    await assert.rejects(bench.run('notify.dismiss', { id: 'x' }), { code: 'NOTIFICATION_NOT_FOUND' });
    await assert.rejects(bench.host.service(notifications).dismiss('x'), { code: 'NOTIFICATION_NOT_FOUND' });
  });
});

it('a listener hears the present list, and changes at most ten times a second', async () => {
  await using bench = await three();
  const heard: number[] = [];
  using _listening = bench.host.service(notifications).onChange((list) => void heard.push(list.length));
  await eventually(() => heard.at(-1) === 3, 'what is there');
  for (let number = 0; number < 50; number += 1)
    bench.publish(EAR, 'ui.banner', { action: 'show', text: `${number}`, level: 'info' });
  await eventually(() => (heard.at(-1) ?? 0) > 3, 'the change');
  assert.ok(heard.length < 50, `${heard.length}`);
});

it('health names who lost how much, and what was not understood', async () => {
  await using bench = await boot();
  for (let number = 0; number < 8; number += 1) bench.publish(AGENDA, 'ui.toast', { text: `${number}`, level: 'info' });
  bench.publish(AGENDA, 'ui.toast', { text: 5, level: 'loud' });
  const message = await eventually(async () => {
    const said: string[] = [];
    const add = (name: string, { message = '' }) => void said.push(`${name}: ${message}`);
    const nothing = () => undefined;
    await bench.host.hook('health.collect').promise({ add, bridge: nothing, warn: nothing });
    return said.find((line) => line.startsWith('notify: '));
  }, 'health');
  assert.match(message, /never shown: com\.example\.agenda \d+; not understood: 1/);
});
