/** A user that another guest had: after a reset or restore units of before still lie there. With the warden itself, without a systemd. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import {
  SystemdSupervisor,
  type SystemdSupervisorOptions,
} from '../../../plugins/apps/supervisor-systemd/systemd-supervisor.ts';
import { WardenDevice } from '../../fixtures/warden-device.ts';

after(leakCheck());

test('makes room where its guest does not run, and both have their new ones then', async () => {
  await using device = new WardenDevice();
  const verbs: string[] = [];
  const warden = {
    async ask(request: { readonly verb: string }) {
      verbs.push(request.verb);
      const { ok, refused, failed } = await device.ask(request);
      if (refused !== undefined) throw new CoreError('WARDEN_REFUSED', { what: request.verb, reason: String(refused) });
      if (failed !== undefined) throw new CoreError('UNAVAILABLE', { what: request.verb, reason: String(failed) });
      return ok;
    },
  };
  const supervisor = new SystemdSupervisor({ warden } as unknown as SystemdSupervisorOptions);
  await supervisor.prepare(device.spec('agenda', 40_001));
  await supervisor.prepare(device.spec('diary', 40_002));
  verbs.length = 0;
  // What was restored gives both the other's user.
  await supervisor.prepare(device.spec('agenda', 40_002));
  assert.deepEqual(verbs, ['put', 'list', 'drop', 'put', 'own']);
  await supervisor.prepare(device.spec('diary', 40_001));
  assert.deepEqual(await warden.ask({ verb: 'list' }), [
    { name: 'app-agenda', id: 'com.example.agenda', uid: 40_002 },
    { name: 'app-diary', id: 'com.example.diary', uid: 40_001 },
  ]);
  verbs.length = 0;
  await assert.rejects(
    supervisor.prepare({ ...device.spec('shop', 40_003), service: 'other' }),
    /service is not device/,
  );
  assert.deepEqual(verbs, ['put', 'list'], 'what is refused for another reason drops nobody');
});
