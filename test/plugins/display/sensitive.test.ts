/** What is for the person before the panel: whoever else watches gets no pixel of it, whenever it comes, goes, fades or is painted late. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import type { TreePatch } from '@device-core/plugin-api/services/renderer';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { FrameWatch } from '../../../plugins/display/display/watch/frame-watch.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { FakePanel } from '../../fixtures/fake-panel.ts';
import { FakeRenderer } from '../../fixtures/fake-renderer.ts';
import { runs } from '../../fixtures/runs.ts';
import { callerOf } from './apps-fixture.ts';
import { FarViewer } from './far-viewer.ts';
import { type Bench, boot, scene } from './fixture.ts';

after(leakCheck());

const OPERATOR = callerOf('operator');
const page = (role: 'viewer' | 'operator', id: string = role): Caller => ({ ...OPERATOR, signedIn: { id, role } });
const [SECRET, PLAIN] = [0x53, 0x11];
const CODE = 'ABCD-EFGH';

/** Paints one byte where the code is in its tree, or fades away, and another where it is not. */
class TellingRenderer extends FakeRenderer {
  slowPicture: Promise<void> | undefined;
  #fades = false;
  override ink = () => (this.shows ? SECRET : PLAIN);

  get shows(): boolean {
    return this.#fades || this.texts.includes(CODE);
  }

  override async apply(patch: TreePatch): Promise<{ readonly frame: number }> {
    const former = new Map(this.surfaces);
    const applied = this.opening ? patch.set : [];
    this.#fades = (applied ?? []).some(({ id, fadeMs = 0 }) => {
      return fadeMs > 0 && JSON.stringify(former.get(id)?.scene ?? '').includes(CODE);
    });
    return await super.apply(patch);
  }

  override async snapshot(): Promise<Uint8Array> {
    const bytes = Buffer.from(this.texts.includes(CODE) ? CODE : 'plain');
    await this.slowPicture;
    return bytes;
  }
}

class Watcher extends FarViewer {
  /** A pixel of the code, in any frame so far. */
  saw = false;

  override async send(chunk: Uint8Array): Promise<void> {
    await super.send(chunk);
    this.saw ||= this.glass?.pixels.includes(SECRET) === true;
  }
}

async function telling(): Promise<Bench & { readonly telling: TellingRenderer }> {
  const bench = await boot({ renderer: false, grants: { 'app.com.example.mirror': ['system.display'] } });
  const renderer = new TellingRenderer();
  bench.register('skia', renderer);
  bench.panel.back({ width: 16, height: 12, format: 'rgb565' });
  await eventually(() => renderer.opening?.panel.width === 16, 'it paints on the small panel');
  await renderer.painted();
  return Object.assign(bench, { telling: renderer });
}

const code = (fadeMs?: number) => ({
  id: 'home',
  layer: 'home',
  scene: scene(CODE),
  sensitive: true,
  ...(fadeMs === undefined ? {} : { fadeMs }),
});
const home = (text: string, fadeMs?: number) => ({
  id: 'home',
  layer: 'home',
  scene: scene(text),
  ...(fadeMs === undefined ? {} : { fadeMs }),
});

async function watches(bench: Bench, caller: Caller, credit = 1_000) {
  const viewer = new Watcher(credit);
  const { done } = await bench.table.openStream('display.frames', { encoding: 'deflate' }, viewer, { caller });
  return Object.assign(viewer, {
    leave: async () => {
      viewer.end();
      await done.catch(() => undefined);
    },
  });
}

const sees = ({ glass }: FarViewer, ink: number): boolean => glass?.pixels.every((byte) => byte === ink) === true;
const text = async (bench: Bench, caller: Caller) =>
  JSON.stringify(await bench.table.run('display.describe', { all: true, targets: true }, { caller }));

test('a viewer sees black while a code is shown, and the panel again when it is gone; the operator sees the panel', async () => {
  await using bench = await telling();
  await bench.display.put(home('hello') as never);
  const viewer = await watches(bench, page('viewer'));
  const operator = await watches(bench, page('operator'));
  await eventually(() => sees(viewer, PLAIN) && sees(operator, PLAIN), 'both see it');
  await bench.display.put(code() as never);
  await eventually(() => sees(viewer, 0), 'black for the viewer');
  assert.equal(viewer.heads.at(-1)?.masked, true);
  await eventually(() => operator.glass?.pixels.includes(SECRET), 'the code for the operator');
  const late = await watches(bench, page('viewer'));
  await eventually(() => sees(late, 0), 'black for one that comes now');
  const { sent } = viewer;
  await bench.display.put(code() as never);
  await bench.telling.painted();
  await turns();
  assert.equal(viewer.sent, sent, 'not even when it is painted is told');
  await bench.display.put(home('bye', 160) as never);
  await eventually(() => sees(viewer, PLAIN) && sees(late, PLAIN) && sees(operator, PLAIN), 'all see what follows');
  assert.equal(viewer.heads.at(-1)?.masked, undefined);
  for (const one of [viewer, operator, late]) await one.leave();
});

for (const [who, caller] of [
  ['a viewer', page('viewer')],
  ['an app that may see the whole screen', callerOf('com.example.mirror')],
] as const)
  test(`${who} gets no picture and no text of a code; the operator gets both`, async () => {
    await using bench = await telling();
    const shot = (whose: Caller) => bench.table.run('display.screenshot', { all: true }, { caller: whose });
    await bench.display.put(code() as never);
    await bench.shows([CODE], bench.telling);
    await assert.rejects(shot(caller), { code: 'CALLER_DENIED' });
    assert.ok(!(await text(bench, caller)).includes(CODE));
    assert.deepEqual(await shot(OPERATOR), { png: Buffer.from(CODE).toString('base64') });
    assert.ok((await text(bench, OPERATOR)).includes(CODE));
    await bench.display.remove('home');
    await eventually(() => !bench.telling.shows, 'it is gone');
    await eventually(async () => (await shot(caller).catch(() => undefined)) !== undefined, 'there are pictures again');
  });

test('a picture that is taken while a code comes and goes is given to the operator alone', async () => {
  await using bench = await telling();
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.telling.slowPicture = promise;
  const shot = (caller: Caller) => bench.table.run('display.screenshot', { all: true }, { caller });
  const asked = Promise.allSettled([shot(page('viewer')), shot(page('operator'))]);
  await turns();
  await bench.display.put(code() as never);
  await bench.display.remove('home');
  resolve();
  const [viewer, operator] = await asked;
  assert.equal(viewer.status === 'rejected' && viewer.reason.code, 'CALLER_DENIED');
  assert.equal(operator.status, 'fulfilled');
});

test('glass that goes on after a code is shown to no viewer before a whole frame came', async () => {
  const watch = new FrameWatch(virtualClock(), () => undefined);
  const info = { ...new FakePanel().details, width: 4, height: 2, format: 'rgb565' as const };
  const frame = (ink: number, w = 4, h = 2) =>
    watch.take(info, { seq: 1, rects: [{ x: 0, y: 0, w, h }], pixels: new Uint8Array(w * h * 2).fill(ink) });
  const [viewer, late] = [new Watcher(100), new Watcher(100)];
  const done = [watch.watch(viewer, { clear: false })];
  frame(PLAIN);
  await eventually(() => sees(viewer, PLAIN), 'the panel');
  watch.cover();
  frame(SECRET);
  await eventually(() => sees(viewer, 0), 'black');
  watch.uncover();
  frame(PLAIN, 1, 1);
  done.push(watch.watch(late, { clear: false }));
  await eventually(() => sees(late, 0), 'black for one that comes now, too');
  assert.ok(sees(viewer, 0));
  frame(PLAIN);
  await eventually(() => sees(viewer, PLAIN) && sees(late, PLAIN), 'the panel again');
  assert.ok(!viewer.saw && !late.saw);
  for (const one of [viewer, late]) one.end();
  await Promise.all(done);
});

const fade = fc.option(fc.constant(160), { nil: undefined });
const step = fc.oneof(
  fc.record({ code: fc.constant(true as const), fade }),
  fc.record({ plain: fc.constantFrom('one', 'two'), fade }),
  fc.constant({ remove: true as const }),
  fc.constant({ turn: true as const }),
  fc.constant({ slow: true as const }),
  fc.constant({ late: true as const }),
  fc.constant({ shot: true as const }),
  fc.constant({ watch: true as const }),
  fc.constant({ leave: true as const }),
);

test('in any order of codes, other scenes, late frames, slow renderers and viewers no pixel of a code reaches a viewer', async () => {
  await using bench = await telling();
  const { telling: renderer } = bench;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      type Open = Awaited<ReturnType<typeof watches>>;
      const all: Open[] = [];
      const gone: Open[] = [];
      const shots: Promise<unknown>[] = [];
      let go = (): void => undefined;
      const clear = () => {
        go();
        renderer.slow = undefined;
        bench.panel.slow = undefined;
      };
      for (const one of steps) {
        if ('code' in one) await bench.display.put(code(one.fade) as never);
        else if ('plain' in one) await bench.display.put(home(one.plain, one.fade) as never);
        else if ('remove' in one) await bench.display.remove('home');
        else if ('turn' in one) await turns(2);
        else if ('shot' in one)
          shots.push(
            bench.table.run('display.screenshot', { all: true }, { caller: page('viewer') }).catch(() => undefined),
          );
        else if ('watch' in one) {
          // Those who left may be on their way out yet, and eight may watch.
          if (all.length < 3) all.push(await watches(bench, page('viewer', `${all.length + gone.length}`)));
        } else if ('leave' in one) {
          const left = all.pop();
          await left?.leave();
          if (left) gone.push(left);
        } else {
          clear();
          const { promise, resolve } = Promise.withResolvers<void>();
          go = resolve;
          if ('slow' in one) renderer.slow = promise;
          else bench.panel.slow = promise;
        }
      }
      clear();
      await bench.display.put(home('end') as never);
      const last = await watches(bench, page('viewer'));
      all.push(last);
      await eventually(() => all.every((viewer) => sees(viewer, PLAIN)), 'all see the panel in the end');
      for (const shot of await Promise.all(shots))
        assert.ok(!Buffer.from((shot as { png: string } | undefined)?.png ?? '', 'base64').includes(CODE));
      for (const viewer of all) await viewer.leave();
      assert.ok(![...all, ...gone].some(({ saw }) => saw), 'nobody saw a pixel of the code');
    }),
    { numRuns: runs(200) },
  );
});
