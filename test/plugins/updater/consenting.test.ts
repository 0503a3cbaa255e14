/** The question at the device: whether an update may have what it newly asks for. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { Device, FILES } from './device.ts';

after(leakCheck());

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** An update that wants the microphone lies in the other slot, and the device would take it by itself. */
async function staged(config: object = {}): Promise<Device> {
  const device = await new Device({ automatic: 'apply', ...config }).start();
  const manifest = 'id: kettle\ncapabilities: [network.outbound, audio.capture]\n';
  const files = { ...FILES, 'manifests/plugins/apps/kettle.yaml': manifest };
  const source = device.image({ plugins: { kettle: '1.0.0' } }, files);
  assert.equal(await codeOf(device.run('install', { source })), 'UPDATE_REFUSED');
  await device.run('download', {}).catch(() => undefined);
  await device.becomes('staged', 'waiting');
  return device;
}

const asked = (device: Device, count: number) =>
  eventually(async () => {
    await device.clock.advance(60_000);
    return device.questions.length === count;
  }, `question ${count}, not ${device.questions.length}`);

/** Many looks whether it may go on. */
async function passes(device: Device, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += HOUR) await device.clock.advance(HOUR);
  await device.status();
}

describe('added rights of an update', () => {
  it('is asked of the person at the device, and a yes installs it', async () => {
    await using device = await staged();
    await asked(device, 1);
    const { question, answer } = device.questions[0]!;
    assert.deepEqual(question, {
      kind: 'update',
      subject: 'test',
      title: 'Test',
      version: '1.1.0',
      what: [],
      act: 'install version 1.1.0: plugin kettle newly asks for network.outbound and 1 more',
    });
    answer(['yes']);
    await device.restarts();
    assert.equal(device.kept.update.state, 'activating');
  });

  for (const [what, state] of [
    ['no', 'answered'],
    ['silence', 'expired'],
  ] as const)
    it(`is asked again a day after ${what}, and not before`, async () => {
      await using device = await staged();
      await asked(device, 1);
      device.questions[0]!.answer([], state);
      await passes(device, DAY - 2 * HOUR);
      assert.equal(device.questions.length, 1);
      assert.equal((await device.status()).rule, 'consent');
      await passes(device, 3 * HOUR);
      await asked(device, 2);
      device.questions[1]!.answer(['yes']);
      await device.restarts();
    });

  it('is asked when the hours for updates begin, and the question goes with them', async () => {
    await using device = await staged({ windows: [{ from: '03:00', to: '04:00' }] });
    await passes(device, 2 * HOUR);
    assert.equal(device.questions.length, 0);
    await passes(device, HOUR);
    await asked(device, 1);
    await passes(device, HOUR);
    await eventually(async () => {
      await device.clock.advance(60_000);
      return device.withdrawn > 0;
    }, 'the question to be withdrawn');
    // Whoever says yes too late has not agreed.
    device.questions[0]!.answer(['yes']);
    await passes(device, 2 * HOUR);
    assert.equal((await device.status()).state, 'waiting');
  });

  it('is not asked any more when an operator holds updates back, or agrees', async () => {
    await using device = await staged();
    await asked(device, 1);
    await device.run('hold', { reason: 'a fair' });
    await eventually(() => device.withdrawn === 1, 'the question to be withdrawn');
    await device.run('resume');
    await asked(device, 2);
    const { update } = (await device.status()) as unknown as { readonly update: { readonly digest: string } };
    await device.run('apply', { accept: update.digest });
    await device.restarts();
    assert.ok(device.withdrawn >= 2);
  });

  it('is not asked where updates are not installed without an order', async () => {
    await using device = await staged({ automatic: 'download' });
    await passes(device, DAY);
    assert.equal(device.questions.length, 0);
  });

  it('are asked again after a question that could not be asked', async () => {
    await using device = await staged();
    await asked(device, 1);
    device.questions[0]!.answer([], 'withdrawn');
    await asked(device, 2);
  });
});
