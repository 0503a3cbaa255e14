/** One simulated device and one browser for the suites of a process, which use them one after the other. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { Device } from './harness.ts';

const READY_MS = 30_000;

// biome-ignore lint/suspicious/noExplicitAny: whatever the Core said
type Pick = (body: any) => unknown;
type Row = Readonly<Record<string, unknown>>;
const states = (list: readonly Row[]) => Object.fromEntries(list.map(({ id, state }) => [id, state]));

/** State that a suite could leave to the next one, by the path that tells it. */
const KEPT: readonly (readonly [path: string, pick: Pick])[] = [
  ['/plugins', ({ plugins }) => states(plugins)],
  ['/apps', ({ apps }) => states(apps)],
  ['/bridge', ({ link }) => link?.link],
  ['/config', ({ entries }) => entries.map(({ key, value, source }: Row) => [key, value, source])],
  ['/secrets', ({ secrets }) => secrets.map(({ name }: Row) => name)],
  ['/flags', ({ flags }) => flags.map(({ name, value }: Row) => [name, value])],
  ['/prompts', ({ prompts }) => prompts.length],
];

/** The device, and its state before the first suite. */
let common: { readonly device: Device; readonly fresh: Row } | undefined;
after(() => discard());

/** The simulator SKU as it comes, for a suite that gives it back as it was. */
export async function lend(): Promise<Device> {
  if (common && !(common.device.core.running && common.device.browser.isConnected())) await discard();
  if (!common) {
    const device = await Device.start();
    common = { device, fresh: {} };
    const up = async () => {
      const kept = await keptBy(device);
      return kept['/bridge'] === 'up' && kept;
    };
    common = { device, fresh: await eventually(up, 'the link to the bridge', { ms: READY_MS, every: 100 }) };
  }
  return common.device;
}

/** Ends the sessions of the suite. A suite that leaves anything else fails, and the next one gets a fresh device. */
export async function giveBack(device: Device): Promise<void> {
  try {
    assert.equal(device, common?.device);
    const { body } = await device.core.ask('/sessions', { unix: true });
    for (const { id } of body.sessions) await device.core.ask(`/sessions/${id}`, { unix: true, method: 'DELETE' });
    assert.equal(device.browser.contexts().length, 0, 'the suite leaves pages open');
    const same = async () => {
      assert.deepEqual(await keptBy(device), common?.fresh);
      return true;
    };
    await eventually(same, 'the device as the suite found it', { every: 100 });
  } catch (thrown) {
    await discard();
    throw thrown;
  }
}

async function keptBy({ core }: Device): Promise<Row> {
  const kept: Record<string, unknown> = {};
  for (const [path, pick] of KEPT) {
    const { status, body, text } = await core.ask(path, { unix: true });
    assert.equal(status, 200, `${path}: ${text}`);
    kept[path] = pick(body);
  }
  return kept;
}

async function discard(): Promise<void> {
  const { device } = common ?? {};
  common = undefined;
  await device?.[Symbol.asyncDispose]();
}
