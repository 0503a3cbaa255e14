/** The page simulator as an operator uses it: a fault by hand, seen by /health, and everything well again. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../fixtures/eventually.ts';
import { noBrowser } from './browser.ts';
import { barriers, Device, type Opened, sideways } from './harness.ts';

after(leakCheck());

describe('page simulator', { skip: noBrowser }, () => {
  let device: Device;
  let opened: Opened;
  const ask = async (path: string) => (await device.core.ask(path, { unix: true })).body;
  before(async () => {
    device = await Device.start();
    opened = await device.open({ at: 'simulator' });
  });
  after(async () => {
    await opened?.[Symbol.asyncDispose]();
    await device[Symbol.asyncDispose]();
  });

  it('breaks the bridge by hand, which /health names, and heals it', async () => {
    const { page } = opened;
    await page.getByText('No simulated faults', { exact: true }).waitFor();
    await page.getByRole('switch', { name: 'Silence' }).click();
    await page.getByText('1 simulated fault', { exact: true }).waitFor();
    await eventually(async () => (await ask('/health')).bridge.link !== 'up', 'a link that is down');
    await page.getByRole('button', { name: 'Clear all faults' }).click();
    await page.getByText('No simulated faults', { exact: true }).waitFor();
    await eventually(async () => (await ask('/health')).bridge.link === 'up', 'a link that is up');
  });

  it('shows which switches are on where the system alone has colours', async () => {
    const { page } = opened;
    await page.emulateMedia({ forcedColors: 'active' });
    const look = `[...document.querySelectorAll('.toggle')].map((one) => [
      one.getAttribute('aria-checked'), getComputedStyle(one).backgroundColor, getComputedStyle(one.firstElementChild).backgroundColor,
    ])`;
    const seen = await page.evaluate<readonly (readonly [string, string, string])[]>(look);
    const tracks = (on: string) => new Set(seen.filter(([checked]) => checked === on).map(([, track]) => track));
    assert.ok(seen.length > 3 && tracks('true').size > 0, JSON.stringify(seen));
    for (const [, track, knob] of seen) assert.notEqual(track, knob);
    for (const track of tracks('true')) assert.ok(!tracks('false').has(track), track);
    const pressed = (of: string) =>
      `getComputedStyle(document.querySelector('.choice [aria-pressed=${of}]')).backgroundColor`;
    assert.notEqual(await page.evaluate(pressed('true')), await page.evaluate(pressed('false')));
    await page.emulateMedia({ forcedColors: 'none' });
  });

  it('makes the room warmer by a slider', async () => {
    const slider = opened.page.getByRole('slider', { name: 'Temperature' });
    await slider.fill('30');
    await eventually(async () => {
      const { values } = await ask('/sensors/environment');
      return Math.round(values?.temperature) === 30;
    }, '30 degrees at the sensor');
  });

  it('puts a tag on the reader by its button, and takes it away', async () => {
    const { page } = opened;
    await page.getByRole('button', { name: 'Put Web address on the reader' }).click();
    await page.getByText('On the reader: Web address').waitFor();
    await eventually(async () => {
      const { readers } = await ask('/nfc/readers');
      return readers.some((one: { tag?: { uid: string } }) => one.tag?.uid === '04112233445566');
    }, 'the tag');
    await page.getByRole('button', { name: 'Take it away' }).click();
    await page.getByText('Nothing lies on the reader').waitFor();
  });

  it('presses a switch, which shows the level of the line', async () => {
    const motion = opened.page.getByRole('switch', { name: /motion/ });
    await motion.click();
    await opened.page.locator('[role=switch][aria-checked=true]', { hasText: 'motion' }).waitFor();
  });

  it('records actions by hand, and plays them', async () => {
    const { page } = opened;
    await page.getByLabel('Name of the recording').fill('by-hand');
    await page.getByRole('button', { name: 'Record', exact: true }).click();
    await page.getByText('Recording by-hand: 0 steps').waitFor();
    await page.getByRole('button', { name: 'Offline', exact: true }).click();
    await page.getByText('Recording by-hand: 1 step', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop and keep' }).click();
    await page.getByRole('button', { name: 'Play by-hand' }).click();
    await page.getByText('by-hand was played to its end').waitFor();
    const { yaml } = await ask('/sim/scenarios/by-hand');
    assert.match(yaml, /do: sim\.network, params: \{ state: offline/);
  });

  it('has the message of a refusal without the code of the plugin', async () => {
    const asked = "import('/ui/core/api.ts').then(({ api }) => api.get('/sim/scenarios/nothing-like-it'))";
    const told = await opened.page.evaluate(`${asked}.catch(({ code, message }) => [code, message])`);
    assert.deepEqual(told, ['plugin.simulator.SCENARIO_NOT_FOUND', 'there is no scenario nothing-like-it']);
  });

  it('can be used by everybody, with faults and on a narrow screen', async () => {
    for (const colours of ['light', 'dark'] as const) {
      await device.core.ask('/sim/stick', { unix: true, body: { endpoint: 'i2c0' } });
      await using seen = await device.open({ at: 'simulator', width: 360, colours });
      await seen.page.getByText('1 simulated fault', { exact: true }).waitFor();
      assert.deepEqual([await barriers(seen.page), await sideways(seen.page)], [[], 0]);
    }
    await device.core.ask('/sim/heal', { unix: true, body: {} });
  });

  it('lets a viewer look and change nothing', async () => {
    await using seen = await device.open({ at: 'simulator', role: 'viewer' });
    await seen.page.getByText('No simulated faults', { exact: true }).waitFor();
    const enabled = await seen.page.locator('#main').getByRole('switch', { disabled: false }).count();
    assert.equal(enabled, 0);
    assert.equal(await seen.page.getByRole('button', { name: 'Crash the bridge' }).isDisabled(), true);
  });
});
