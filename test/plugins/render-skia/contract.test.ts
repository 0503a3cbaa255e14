import { after, describe } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { SkiaRenderer } from '../../../plugins/display/render-skia/renderer.ts';
import { rendererContract } from '../../contracts/renderer.ts';
import { incrementalIsFull } from '../../contracts/renderer-damage.ts';
import { NO_PICTURES } from '../../fixtures/pictures.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

async function skia() {
  const clock = virtualClock({ now: Date.UTC(2024, 4, 9, 10, 24, 30), turns: 2 });
  const { scope, log, logged, ...rest } = part(clock);
  const renderer = new SkiaRenderer(scope, log, []);
  return { renderer, clock, logged, [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose]() };
}

describe('render-skia is a renderer that', { skip: NO_PICTURES }, () => {
  rendererContract(skia, {});
  incrementalIsFull(skia);
});
