/** The warden as it is installed, under a systemd of its own. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { ask, placedApp, wardenBox } from '../fixtures/warden-box.ts';

const TELLS = `import { readFileSync, writeFileSync, readdirSync } from 'node:fs';
const token = readFileSync(process.env.CREDENTIALS_DIRECTORY + '/token', 'utf8');
writeFileSync(process.env.HOME + '/told', JSON.stringify({ uid: process.getuid(), token, others: readdirSync('/run/device/apps') }));
setInterval(() => {}, 1000);`;

suite('the warden', { skip: WITHOUT_CONTAINERS }, () => {
  test('makes a user and a unit of a specification, starts it, limits it, ends it, and goes itself', async () => {
    await using box = await wardenBox();
    const spec = await placedApp(box, 'agenda', 40_001, TELLS);
    const name = spec.name;
    assert.deepEqual(
      await ask(box, [
        { verb: 'put', spec },
        { verb: 'start', name },
      ]),
      [{ ok: true }, { ok: true }],
    );
    const told = () => box.output(`cat ${spec.data}/told`).then(JSON.parse, () => undefined);
    assert.deepEqual(await eventually(told, 'what the app found'), {
      uid: 40_001,
      token: 'token-1',
      others: ['agenda'],
    });
    assert.equal(await box.output('systemctl is-active app-agenda'), 'active\n');
  });
});
