/** Drivers of the kernel that do not return. */
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { after, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hangingBuses } from '../../fixtures/hanging-buses.ts';

after(leakCheck());

it('a Core whose host buses all hang answers GET /health, reads files and tells callers in their time', async () => {
  await using device = await hangingBuses();
  for (const outcome of device.outcomes) assert.ok(outcome instanceof CoreError && outcome.code === 'TIMEOUT');
  await Promise.all(Array.from({ length: 20 }, () => stat('/')));
  assert.ok(Object(await device.health()).components);
  assert.equal(device.returned, 0, 'no driver has returned yet');
});
