/** A Core that comes back to the state of a newer one: what it does not know is no damage, and is there again under the newer Core. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { audio, config, operations } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../fixtures/core.ts';

after(leakCheck());

const GHOST = 'plugins/ghost/1.0.0+0123456789ab/index.js';
/** Every store of the Core in a form that it does not know yet, and what lies beside it. */
const STATE: Readonly<Record<string, string>> = {
  'plugins/installed.yaml': 'format: 2\nlist:\n  - { id: ghost, version: 1.0.0 }\n',
  [GHOST]: 'export const plugin = {};\n',
  'config.yaml': 'lamp:\n  colour: red\n',
  'config.meta.json': '{ "version": 2, "entries": [["lamp.colour", { "by": "operator" }]] }\n',
  'audio/state.json': '{ "format": 2, "level": 0.3 }\n',
  'intent/timers.json': '{ "format": 2, "alarms": [] }\n',
  'voice/budget.json': '{ "format": 2, "day": "2026-01-01", "month": "2026-01" }\n',
  'voice/ledger.jsonl': '{ "format": 2, "at": 1, "sent": "x" }\n',
  'ledger/egress.jsonl': '{ "format": 2, "at": 1, "sent": "x" }\n',
};

test('state of a newer form is left alone, nothing is swept, and the health says so', async () => {
  const root = mkdtempSync(join(tmpdir(), 'dn-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const place = (name: string) => join(root, 'var', name);
  for (const [name, text] of Object.entries(STATE)) {
    mkdirSync(dirname(place(name)), { recursive: true });
    writeFileSync(place(name), text);
  }
  const ids = ['operations', 'identity', 'system', 'config', 'plugin-store'];
  ids.push('audio-sim', 'audio', 'speech', 'intent', 'ledger', 'voice');
  {
    await using core = await startCore({ plugins: Object.fromEntries(ids.map((id) => [id, '*'])), root });
    assert.equal((await core.kernel.status()).state, 'ok');
    const ask = async <T>(name: string, params: object) =>
      (await core.service(operations).invoke(name, params, invocation())) as T;
    const { warnings } = await ask<Health>('system.health', {});
    const told = warnings
      .filter(({ code }) => code === 'STATE_NEWER')
      .map(({ message }) => message)
      .join('\n');
    for (const name of ['installed.yaml', 'config.meta.json', 'timers.json', 'budget.json'])
      assert.ok(told.includes(name), `${name} is not told: ${told}`);
    // What can still be done is done, beside what is left alone.
    await core.service(config).set({}, 'lamp.colour', 'blue', { by: 'operator' });
    assert.equal((await core.service(config).get({}, 'lamp.colour')).value, 'blue');
    await core.service(audio).setVolume(0.5);
    await assert.rejects(ask('plugins.switch', { id: 'voice', enabled: false }), { code: 'STATE_NEWER' });
  }
  for (const [name, text] of Object.entries(STATE)) {
    if (name === 'config.yaml') continue;
    assert.equal(readFileSync(place(name), 'utf8'), text, `${name} is not what the newer Core left`);
  }
  assert.ok(!existsSync(place('plugins/installed.yaml.corrupt')));
  await using again = await startCore({ plugins: { config: '*', operations: '*', identity: '*' }, root });
  const entry = await again.service(config).get({}, 'lamp.colour');
  assert.equal(entry.value, 'blue');
  assert.equal(entry.setBy, 'operator', 'who set it is kept beside the newer metadata');
});

interface Health {
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
}

const invocation = () => ({
  caller: { kind: 'operator', id: 'operator' } as const,
  signal: AbortSignal.timeout(10_000),
  deadline: Date.now() + 10_000,
});
