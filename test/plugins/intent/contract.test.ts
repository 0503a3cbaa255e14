import { after, describe } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { intentsContract } from '../../contracts/intents.ts';
import { start } from './start.ts';

after(leakCheck());

describe('the intents of the device', { timeout: 300_000 }, () => {
  intentsContract(async () => {
    const started = await start();
    return {
      intents: started.intents,
      settle: () => started.host.settle(),
      [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
    };
  });
});
