import { after, describe } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { LEFT_OUT } from '../../../plugins/display/render-soft/left-out.ts';
import { SoftRenderer } from '../../../plugins/display/render-soft/renderer.ts';
import { rendererContract } from '../../contracts/renderer.ts';
import { incrementalIsFull } from '../../contracts/renderer-damage.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

async function soft() {
  const clock = virtualClock({ now: Date.UTC(2024, 4, 9, 10, 24, 30), turns: 2 });
  const { log, ...rest } = part(clock);
  const renderer = new SoftRenderer(clock, log, 60);
  return {
    renderer,
    clock,
    async [Symbol.asyncDispose]() {
      await renderer.close();
      await rest[Symbol.asyncDispose]();
    },
  };
}

describe('render-soft is a renderer that', () => {
  rendererContract(soft, LEFT_OUT);
  incrementalIsFull(soft);
});
