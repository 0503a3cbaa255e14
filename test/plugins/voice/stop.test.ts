import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Alarms } from '@device-core/plugin-api/services/alarms';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { start } from './started.ts';

after(leakCheck());

describe('a bell', () => {
  it('is silenced by a stop word without a wake phrase, and by no other time', async () => {
    let tell: (ringing: readonly object[]) => void = () => undefined;
    let silenced = 0;
    const bell = {
      state: async () => ({ ringing: [] }),
      onChange(listener: (state: object) => void) {
        tell = (ringing) => listener({ ringing });
        return { [Symbol.dispose]: () => undefined };
      },
      async silence() {
        silenced += 1;
        tell([]);
        return 1;
      },
    } as unknown as Alarms;
    const { host, sound, states, over } = await start({}, {}, undefined, { ledger: true, bell });
    const stop = async () => {
      sound.say('_ _ stop _ _ _ _ _');
      await eventually(() => sound.quiet, 'the word was heard');
    };
    await stop();
    assert.equal(silenced, 0, 'nothing rings');
    tell([{}]);
    await stop();
    await eventually(() => silenced === 1, 'silence');
    assert.deepEqual(states(), [], 'it is no turn');
    await stop();
    assert.equal(silenced, 1, 'it rings no more');
    tell([{}]);
    sound.say('_ hey-computer _ next _ _ _ _');
    assert.equal((await over())[0]?.outcome, 'answered', 'a call is heard meanwhile');
    assert.equal(silenced, 1);
    await host.stop();
  });
});

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
