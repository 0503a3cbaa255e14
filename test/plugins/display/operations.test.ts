/** The operations display.*: who may what, limits, and every bad input with its place. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import { inputs } from '@device-core/plugin-api/services/input';
import { virtualClock } from '@device-core/plugin-api/testing';
import { packageFile } from '../../../plugins/apps/apps/package-file.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { png } from '../../fixtures/grey-png.ts';
import { AGENDA, type AppBench, bootApps, RADIO } from './apps-fixture.ts';
import { scene } from './fixture.ts';

const ALL = { config: { autoShow: ['*'] } };
const CARD = { card: 1, template: 'text', title: 'Tomorrow', body: 'Dentist' };

class Files implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'di-'));

  add(name: string, bytes: Uint8Array): string {
    const path = join(this.folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, bytes);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

async function image(bench: AppBench, files: Files, bytes: Uint8Array, who = AGENDA) {
  return await bench.run(who, 'display.image', { file: files.add('upload', bytes) });
}

describe('bad scenes are refused with place and reason', () => {
  const text = { kind: 'text', x: 0, y: 0, text: 'a' };
  const deep = (levels: number): object => (levels === 0 ? text : { kind: 'group', nodes: [deep(levels - 1)] });
  const CASES: readonly (readonly [what: string, value: object, where: RegExp])[] = [
    ['an unknown member', { scene: 1, nodes: [{ kind: 'text', txet: 'a' }] }, /\/nodes\/0\/txet/],
    ['another version', { scene: 2, nodes: [] }, /\/scene/],
    ['no nodes', { scene: 1 }, /nodes/],
    ['an unknown kind', { scene: 1, nodes: [{ kind: 'html' }] }, /\/nodes\/0\/kind/],
    ['257 nodes', { scene: 1, nodes: Array.from({ length: 257 }, () => text) }, /\/nodes\/256/],
    ['depth 9', { scene: 1, nodes: [deep(9)] }, /deep/],
    ['a number out of this world', { scene: 1, nodes: [{ ...text, x: 1e308 }] }, /\/nodes\/0\/x/],
    [
      'an id twice',
      {
        scene: 1,
        nodes: [
          { ...text, id: 'a' },
          { ...text, id: 'a' },
        ],
      },
      /\/nodes\/1\/id/,
    ],
    ['65 KiB', { scene: 1, nodes: Array.from({ length: 60 }, () => ({ ...text, text: 'x'.repeat(1_200) })) }, /bytes/],
    [
      'a timeline of nobody',
      { scene: 1, nodes: [], timelines: [{ node: 'x', property: 'x', to: 1, ms: 1 }] },
      /\/timelines\/0/,
    ],
    [
      'an image that nobody gave',
      { scene: 1, nodes: [{ kind: 'image', w: 9, h: 9, image: `sha256-${'0'.repeat(64)}` }] },
      /\/nodes\/0\/image/,
    ],
    [
      'a file that is not there',
      { scene: 1, nodes: [{ kind: 'image', w: 9, h: 9, image: 'icons/sun.png' }] },
      /\/nodes\/0\/image.*icons\/sun\.png/,
    ],
  ];
  for (const [what, value, where] of CASES)
    test(what, async () => {
      await using bench = await bootApps(ALL);
      await assert.rejects(bench.run(AGENDA, 'display.show', value), (error: CoreError) => {
        assert.equal(error.code, 'SCENE_INVALID');
        assert.match(error.message, where);
        return true;
      });
      await bench.shows([]);
    });
});

test('a card is laid out, laid out again for other surroundings, and not patched', async () => {
  await using bench = await bootApps(ALL);
  const { state, version } = await bench.run(AGENDA, 'display.card', CARD);
  assert.equal(state, 'foreground');
  await eventually(() => bench.renderer.surfaces.size === 1, 'it is shown');
  const before = bench.renderer.surfaces.get(`app:${AGENDA}`)?.scene;
  assert.match(JSON.stringify(before), /Tomorrow.*Dentist/);
  await assert.rejects(bench.run(AGENDA, 'display.patch', { version }), {
    code: 'SCENE_INVALID',
    message: /it is a card/,
  });
  await assert.rejects(bench.run(AGENDA, 'display.card', { ...CARD, tilte: 'x' }), {
    code: 'SCENE_INVALID',
    message: /\/tilte/,
  });
  await assert.rejects(bench.run(AGENDA, 'display.card', scene('no card')), { code: 'SCENE_INVALID' });
});

test('a card from before there was a renderer is laid out again when there is one', async () => {
  await using bench = await bootApps({ ...ALL, renderer: false });
  await bench.run(AGENDA, 'display.card', CARD);
  bench.register('skia', bench.renderer);
  await eventually(() => (bench.renderer.surfaces.get(`app:${AGENDA}`)?.version ?? 0) >= 2, 'it is laid out again');
});

test('patches are whole or nothing, for the version that they name', async () => {
  await using bench = await bootApps(ALL);
  await assert.rejects(bench.run(AGENDA, 'display.patch', { version: 1 }), { code: 'NOT_FOREGROUND' });
  await bench.run(AGENDA, 'display.show', scene('one'));
  const patch = { version: 1, set: [{ id: 't', text: 'two' }] };
  assert.deepEqual(await bench.run(AGENDA, 'display.patch', patch), { version: 2 });
  await assert.rejects(bench.run(AGENDA, 'display.patch', patch), {
    code: 'SCENE_CONFLICT',
    message: /version 2, not 1/,
  });
  const half = {
    version: 2,
    set: [
      { id: 't', text: 'three' },
      { id: 'x', text: 'y' },
    ],
  };
  await assert.rejects(bench.run(AGENDA, 'display.patch', half), { code: 'SCENE_INVALID', message: /\/set\/1\/id/ });
  await bench.shows(['two']);
  await assert.rejects(bench.run(RADIO, 'display.patch', { version: 2 }), { code: 'NOT_FOREGROUND' });
});

test('without the capability an app draws nothing', async () => {
  await using bench = await bootApps(ALL);
  for (const [name, params] of [
    ['display.show', scene('x')],
    ['display.card', CARD],
    ['display.patch', { version: 1 }],
    ['display.hide', {}],
    ['display.image', { file: '/nowhere' }],
  ] as const)
    await assert.rejects(bench.run('com.example.stranger', name, params), {
      code: 'CAPABILITY_DENIED',
      message: /display\.surface/,
    });
});

test('an app sees its own surface, the operator all of the screen', async () => {
  await using bench = await bootApps(ALL);
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('home') });
  await bench.as('notify').put({ id: 't', layer: 'toast', scene: scene('toast'), box: { x: 0, y: 0, w: 720, h: 96 } });
  await assert.rejects(bench.run(AGENDA, 'display.describe'), { code: 'NOT_FOREGROUND' });
  await bench.run(AGENDA, 'display.show', scene('mine'));
  assert.deepEqual(await bench.run(AGENDA, 'display.describe'), { text: ['mine'] });
  assert.deepEqual(await bench.run('operator', 'display.describe'), { text: ['toast', 'mine'] });
  await assert.rejects(bench.run(AGENDA, 'display.describe', { all: true }), {
    code: 'CAPABILITY_DENIED',
    message: /system\.display/,
  });
  await bench.shows(['home', 'mine', 'toast']);
  const own = Buffer.from((await bench.run(AGENDA, 'display.screenshot')).png, 'base64');
  assert.equal(own.subarray(8).toString(), `app:${AGENDA}`);
  const all = Buffer.from((await bench.run('operator', 'display.screenshot')).png, 'base64');
  assert.equal(all.subarray(8).toString(), 'all');
  await assert.rejects(bench.run(RADIO, 'display.screenshot'), { code: 'NOT_FOREGROUND' });
});

test('touch targets are listed with their place, and left out under another surface', async () => {
  await using bench = await bootApps(ALL);
  const rect = { kind: 'rect', w: 100, h: 80, fill: '@accent' } as const;
  const turned = { kind: 'group', x: 400, y: 400, w: 100, h: 100, scale: 2, rotate: 90 } as const;
  await bench.run(AGENDA, 'display.show', {
    scene: 1,
    nodes: [
      { ...rect, x: 20, y: 20, tap: 'one', label: 'Remind me' },
      { kind: 'text', x: 200, y: 200, w: 200, h: 60, text: 'at {{8}', tap: 'two' },
      { ...turned, nodes: [{ ...rect, x: 0, y: 0, w: 100, h: 20, tap: 'three', label: 'Aside' }] },
      { ...rect, x: 600, y: 20, opacity: 0, tap: 'unseen', label: 'Unseen' },
    ],
  });
  const { text, targets } = await bench.run(AGENDA, 'display.describe', { targets: true });
  assert.deepEqual(text, ['[Remind me]', '[at {8}]', '[Aside]']);
  assert.deepEqual(targets, [
    { label: 'Remind me', x: 70, y: 60 },
    { label: 'at {8}', x: 300, y: 230 },
    { label: 'Aside', x: 530, y: 450 },
  ]);
  const box = { x: 0, y: 0, w: 720, h: 120 };
  const background = '@surface';
  await bench.as('notify').put({ id: 't', layer: 'toast', scene: scene('toast', { background }), box });
  const all = await bench.run('operator', 'display.describe', { targets: true });
  assert.deepEqual(
    all.targets.map(({ label }: { label: string }) => label),
    ['at {8}', 'Aside'],
  );
  await bench.as('system-view').put({
    id: 'p',
    layer: 'prompt',
    box: { x: 0, y: 0, w: 720, h: 720 },
    scene: { scene: 1, background, nodes: [{ ...rect, x: 0, y: 200, tap: 'yes', label: 'Allow' }] },
  });
  const asked = await bench.run('operator', 'display.describe', { targets: true });
  assert.deepEqual(asked.targets, [{ label: 'Allow', x: 50, y: 240, guarded: true }]);
});

test('surfaces are listed from above with whose they are, and what their frames cost', async () => {
  await using bench = await bootApps(ALL);
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('home') });
  await bench.run(AGENDA, 'display.show', scene('mine'));
  await bench.shows(['home', 'mine']);
  const surface = `app:${AGENDA}`;
  bench.renderer.opening?.report({
    frames: 10,
    cpuMs: 25.004,
    pixels: 100,
    ms: 1_000.4,
    missingGlyphs: [],
    surfaces: [{ surface, frames: 10, cpuMs: 20 }],
  });
  const { surfaces, report } = await bench.run('operator', 'display.surfaces');
  assert.deepEqual(surfaces, [
    {
      id: surface,
      layer: 'app',
      version: 1,
      state: 'foreground',
      app: AGENDA,
      budgetMs: 8,
      frames: 10,
      cpuMs: 20,
    },
    { id: 'home:main', layer: 'home', version: 1, state: 'foreground' },
  ]);
  assert.deepEqual({ ...report, at: 0 }, { at: 0, ms: 1_000, frames: 10, cpuMs: 25 });
  await assert.rejects(bench.run(AGENDA, 'display.surfaces'), { code: 'CAPABILITY_DENIED' });
});

test('images: a file that is none or too large is refused', async () => {
  await using bench = await bootApps({ config: { autoShow: ['*'], quota: { imageBytes: 65_536 } } });
  using files = new Files();
  const bomb = png(1, 1);
  bomb.writeUInt32BE(64_000, 16);
  bomb.writeUInt32BE(64_000, 20);
  const bad = [bomb, png().subarray(0, 40), Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), Buffer.alloc(0)];
  for (const bytes of bad) await assert.rejects(image(bench, files, bytes), { code: 'IMAGE_INVALID' });
  const first = await image(bench, files, png(100, 100));
  assert.match(first.image, /^sha256-[0-9a-f]{64}$/);
  assert.deepEqual([first.width, first.height], [100, 100]);
  assert.deepEqual(await image(bench, files, png(100, 100)), first, 'the same one again is none more');
  await assert.rejects(image(bench, files, png(100, 100, 9)), {
    code: 'IMAGE_INVALID',
    message: /80000 bytes decoded/,
  });
  await image(bench, files, png(100, 100, 9), RADIO);
  const node = { kind: 'image', w: 90, h: 90, image: first.image };
  assert.equal((await bench.run(AGENDA, 'display.show', { scene: 1, nodes: [node] })).state, 'foreground');
  await assert.rejects(bench.run(RADIO, 'display.show', { scene: 1, nodes: [node] }), { code: 'SCENE_INVALID' });
});

test('a file of the package is an image, and one from elsewhere is not', async () => {
  using files = new Files();
  await using bench = await bootApps(ALL);
  files.add('icons/sun.png', png(2, 2));
  bench.apps.folder = files.folder;
  await bench.run(AGENDA, 'display.show', { scene: 1, nodes: [{ kind: 'image', w: 9, h: 9, image: 'icons/sun.png' }] });
  await eventually(() => bench.renderer.images.size === 1, 'the renderer has it');
  const [shown] = bench.renderer.surfaces.get(`app:${AGENDA}`)!.scene.nodes;
  assert.match((shown as { readonly image: string }).image, /^sha256-/);

  const outside = files.add('outside/secret.png', png());
  const root = join(files.folder, 'package');
  files.add('package/in.png', png());
  symlinkSync(outside, join(root, 'link.png'));
  symlinkSync(join(root, 'in.png'), join(root, 'inner.png'));
  assert.deepEqual(await packageFile(root, 'in.png', 1_000), png());
  assert.deepEqual(await packageFile(root, 'inner.png', 1_000), png());
  for (const path of ['link.png', '../outside/secret.png', outside, 'none.png', '.', 'a\0b'])
    await assert.rejects(packageFile(root, path, 1_000), { code: 'PARAMS_INVALID' });
  await assert.rejects(packageFile(root, 'in.png', 10), /10 are the limit/);
});

test('a patch that names files in thousands of ways is refused before one of them is read', async () => {
  using files = new Files();
  await using bench = await bootApps(ALL);
  files.add('icons/sun.png', png(2, 2));
  bench.apps.folder = files.folder;
  const node = { kind: 'image', id: 'sun', w: 9, h: 9, image: 'icons/sun.png' };
  const { version } = await bench.run(AGENDA, 'display.show', { scene: 1, nodes: [node] });
  const read = bench.apps.read;
  const ways = Array.from({ length: 2_000 }, (_, times) => ({
    id: 'sun',
    image: `${'./'.repeat(times + 1)}icons/sun.png`,
  }));
  for (const set of [ways, ways.slice(0, 1)])
    await assert.rejects(bench.run(AGENDA, 'display.patch', { version, set }), { code: 'SCENE_INVALID' });
  assert.equal(bench.apps.read, read);
});

test('touch of a surface is told to its app alone, while it is in the foreground', async () => {
  await using bench = await bootApps(ALL);
  await bench.run(AGENDA, 'display.show', scene('a', {}, { tap: 'go', h: 100 }));
  await bench.shows(['a']);
  const finger = bench.host.service(inputs).register({ id: 'test:glass', touch: true, keys: [], injected: false });
  const tap = async (id: number) => {
    const at = monotonicMs();
    const place = { kind: 'touch', id, x: 100, y: 80 } as const;
    await finger.push([
      { ...place, phase: 'down', at },
      { ...place, phase: 'up', at: at + 40 },
    ]);
    await turns();
  };
  await tap(1);
  await eventually(() => bench.inputs.length === 1, 'it hears of it');
  assert.equal(bench.inputs[0]?.app, AGENDA);
  assert.partialDeepStrictEqual(bench.inputs[0]?.params, { tap: 'go', node: 't', phase: 'tap', scene: 1 });
  await bench.display.home();
  await tap(2);
  assert.equal(bench.inputs.length, 1);
});

test('changes faster than the rate are refused, and others keep theirs', async () => {
  const clock = virtualClock();
  await using bench = await bootApps({ ...ALL, clock });
  await bench.run(AGENDA, 'display.show', scene('0'));
  let refused = 0;
  let version = 1;
  for (let count = 0; count < 1_000; count += 1) {
    const change = { version, set: [{ id: 't', text: `${count}` }] };
    await bench.run(AGENDA, 'display.patch', change).then(
      (answer) => {
        version = answer.version;
      },
      (error: CoreError) => {
        assert.equal(error.code, 'RATE_LIMITED');
        assert.ok((error.details.retryAfterMs as number) > 0);
        refused += 1;
      },
    );
  }
  assert.equal(refused, 1_000 - 59, 'the burst is 60, and the scene was one of it');
  await bench.run(RADIO, 'display.show', scene('music'));
  await clock.advance(1_000);
  await bench.run(AGENDA, 'display.patch', { version, set: [{ id: 't', text: 'later' }] });
  await bench.shows(['later']);
});

test('ten thousand times shown and hidden leaves nothing behind, and one banner', async () => {
  await using bench = await bootApps({ config: { quota: { patchesPerSecond: 240, patchBurst: 480 } } });
  let shown = 0;
  for (let count = 0; count < 10_000; count += 1) {
    await bench.run(AGENDA, 'display.show', scene(`${count}`)).then(
      () => {
        shown += 1;
      },
      (error: CoreError) => assert.equal(error.code, 'RATE_LIMITED'),
    );
    await bench.run(AGENDA, 'display.hide');
  }
  assert.ok(shown >= 480);
  assert.equal(bench.banners.filter((one) => one.startsWith('show')).length, 1);
  await bench.shows([]);
  assert.equal(bench.renderer.surfaces.size, 0);
});

test('a scene that costs too much is slowed down, then closed, and the app is named', async () => {
  const clock = virtualClock();
  await using bench = await bootApps({ ...ALL, clock });
  await bench.run(AGENDA, 'display.show', scene('heavy'));
  await bench.shows(['heavy']);
  const surface = `app:${AGENDA}`;
  const report = (frames: number, cpuMs: number) =>
    bench.renderer.opening?.report({
      frames,
      cpuMs,
      pixels: 0,
      ms: 1_000,
      missingGlyphs: [],
      surfaces: [{ surface, frames, cpuMs }],
    });
  report(1, 400);
  await turns();
  assert.equal(bench.renderer.surfaces.get(surface)?.fps, undefined, 'one frame says nothing');
  report(30, 3_000);
  await eventually(() => bench.renderer.surfaces.get(surface)?.fps === 10, 'it is slowed down');
  for (let second = 0; second < 3; second += 1) report(10, 1_000);
  await bench.shows([]);
  const late = bench.run(AGENDA, 'display.patch', { version: 1 });
  await assert.rejects(late, { code: 'SURFACE_TOO_COSTLY', message: /100\.0 ms of CPU/ });
  await assert.rejects(bench.run(AGENDA, 'display.show', scene('again')), { code: 'SURFACE_TOO_COSTLY' });
  const warnings: string[] = [];
  const warn = (code: string, message: string) => void warnings.push(`${code} ${message}`);
  await bench.host.hook('health.collect').promise({ add: () => undefined, bridge: () => undefined, warn } as never);
  assert.match(warnings.join('\n'), /SURFACE_TOO_COSTLY com\.example\.agenda: a frame of it took 100\.0 ms/);
  await clock.advance(31_000);
  await bench.run(AGENDA, 'display.show', scene('lighter'));
});
