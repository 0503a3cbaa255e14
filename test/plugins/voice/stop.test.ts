import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { start } from './started.ts';

after(leakCheck());

describe('a turn that a person ends by hand', () => {
  it('is cancelled; with the id of another turn nothing ends', async () => {
    const { service, host, states } = await start();
    const turn = service.ask('slow');
    await eventually(() => states().includes('thinking'), 'a turn');
    await service.stop('another');
    assert.equal((await service.state()).state, 'thinking');
    await service.stop((await service.state()).turn);
    assert.equal((await turn).outcome, 'cancelled');
    await service.stop();
    await host.stop();
  });
});
