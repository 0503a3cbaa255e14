import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { FOR_USER } from '@device-core/plugin-api';
import type { Scene, SceneNode } from '@device-core/plugin-api/scene';
import type { SurfaceInput } from '@device-core/plugin-api/services/display';
import type { InputDescription, InputEvent } from '@device-core/plugin-api/services/input';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { type KeySetting, KeyTable } from '../../../plugins/display/display/input/keys.ts';
import { InputRouter } from '../../../plugins/display/display/input/router.ts';
import type { InputSeam, TouchableSurface } from '../../../plugins/display/display/seams.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const WHOLE = { x: 0, y: 0, w: 720, h: 720 };
const PANEL: InputDescription = {
  id: 'glass',
  touch: true,
  keys: ['home', 'mute', 'play', 'side', 'knob'],
  injected: false,
};

function surface(
  id: string,
  layer: keyof typeof LAYERS,
  nodes: readonly SceneNode[],
  more: Partial<TouchableSurface> & { background?: string } = {},
): TouchableSurface {
  const { background, ...rest } = more;
  const scene: Scene = { scene: 1, nodes, ...(background !== undefined && { background }) };
  return {
    id,
    layer: LAYERS[layer],
    version: 1,
    box: WHOLE,
    scene,
    modal: layer === 'prompt',
    shownAt: -10_000,
    ...rest,
  };
}

const button = (tap: string, x: number, y: number, size = 100): SceneNode => ({
  kind: 'rect',
  id: `n-${tap}`,
  x,
  y,
  w: size,
  h: size,
  tap,
  label: tap,
});
const APP = surface('app:com.example.a', 'app', [button('buy', 300, 300), button('small', 600, 600, 20)]);
const HOME = surface('home', 'home', [button('clock', 0, 0, 720)]);

function bench({
  simulated = false,
  keys = {},
  dark = false,
}: {
  simulated?: boolean;
  keys?: Record<string, KeySetting>;
  dark?: boolean;
} = {}) {
  const clock = virtualClock();
  const held = part(clock);
  const told: [surface: string, input: SurfaceInput][] = [];
  const log: string[] = [];
  const state = {
    surfaces: [APP, HOME] as readonly TouchableSurface[],
    foreground: 'app:com.example.a' as string | undefined,
    dark,
  };
  const seam: InputSeam = {
    surfacesFromAbove: () => state.surfaces,
    deliver: (id, input) => void told.push([id, input]),
    foreground: () => state.foreground,
    home: () => void log.push('home'),
    touched: () => void log.push('touched'),
    onTouched: () => ({ [Symbol.dispose]: () => undefined }),
  };
  const router = new InputRouter({
    ...{ scope: held.scope, log: held.log, seam, keys: new KeyTable(keys), simulated, trusted: ['driver'] },
    light: {
      dark: () => state.dark,
      wake(reason) {
        state.dark = false;
        log.push(`wake ${reason}`);
      },
    },
    mute: (onlyMute) => void log.push(onlyMute ? 'mute only' : 'mute'),
    power: () => void log.push('power'),
    publish: (name, phase) => void log.push(`${name} ${phase}`),
    seenAt: () => clock.monotonic(),
  });
  const source = router.register(PANEL);
  const touch = (phase: 'down' | 'move' | 'up' | 'cancel', x: number, y: number, from = source, id = 1) =>
    from.push([{ kind: 'touch', id, phase, x, y, at: clock.monotonic() }]);
  const tap = async (x: number, y: number, from = source) => {
    await touch('down', x, y, from);
    await clock.advance(50);
    await touch('up', x, y, from);
  };
  const key = (name: string, phase: 'down' | 'up' | 'repeat' = 'down', from = source) =>
    from.push([{ kind: 'key', name, phase, at: clock.monotonic() }]);
  const short = () =>
    told.map(([id, { phase, tap: what, direction, key: name, delta }]) =>
      [id, phase, what ?? direction ?? name, ...(delta === undefined ? [] : [delta])]
        .filter((one) => one !== undefined)
        .join(' '),
    );
  return {
    clock,
    told,
    short,
    log,
    state,
    router,
    source,
    touch,
    tap,
    key,
    held,
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

describe('a touch', () => {
  it('goes to the node that lies there, with its version and place', async () => {
    await using device = bench();
    await device.tap(350, 340);
    assert.deepEqual(device.told, [
      ['app:com.example.a', { scene: 1, node: 'n-buy', tap: 'buy', phase: 'tap', x: 350, y: 340 }],
    ]);
    assert.deepEqual(device.log, ['touched']);
  });

  it('reaches a small target beside it, and tells its surface of a place without a node', async () => {
    await using device = bench();
    await device.tap(580, 610);
    await device.tap(100, 100);
    assert.deepEqual(device.short(), ['app:com.example.a tap small', 'app:com.example.a tap']);
  });

  it('is told in units of the surface', async () => {
    await using device = bench();
    device.state.surfaces = [
      surface('toast', 'toast', [button('ok', 10, 10)], { box: { x: 60, y: 40, w: 600, h: 120 } }),
      APP,
    ];
    await device.tap(100, 60);
    const [, input] = device.told[0]!;
    assert.deepEqual([input.x, input.y, input.tap], [40, 20, 'ok']);
  });

  const stacks: readonly (readonly [title: string, above: TouchableSurface, told: readonly string[]])[] = [
    ['stays with a surface that has a ground', surface('toast', 'toast', []), ['toast tap']],
    [
      'falls through one that has none',
      surface('voice', 'voice', [], { background: '#00000000' }),
      ['app:com.example.a tap buy'],
    ],
    [
      'is taken by a node on no ground',
      surface('voice', 'voice', [button('stop', 300, 300)], { background: '#00000000' }),
      ['voice tap stop'],
    ],
    [
      'passes beside a box',
      surface('toast', 'toast', [], { box: { x: 0, y: 0, w: 720, h: 100 } }),
      ['app:com.example.a tap buy'],
    ],
    [
      'never passes a modal one, not even beside it',
      surface('ask', 'prompt', [], { box: { x: 0, y: 0, w: 720, h: 100 } }),
      [],
    ],
    [
      'is not for what is invisible',
      surface('ghost', 'voice', [{ ...button('x', 300, 300), opacity: 0 }], { background: '#12345600' }),
      ['app:com.example.a tap buy'],
    ],
  ];
  for (const [title, above, told] of stacks)
    it(title, async () => {
      await using device = bench();
      device.state.surfaces = [above, APP, HOME];
      await device.tap(350, 350);
      assert.deepEqual(device.short(), told);
    });

  it('hits what moves where it is now', async () => {
    await using device = bench();
    const moving = surface('app:com.example.a', 'app', [button('ball', 0, 0)]);
    const timelines = [
      { node: 'n-ball', property: 'x' as const, from: 0, to: 600, ms: 1_000, ease: 'linear' as const, at: 0 },
    ];
    device.state.surfaces = [{ ...moving, scene: { ...moving.scene, timelines } }];
    await device.clock.advance(500);
    await device.touch('down', 350, 50);
    await device.touch('up', 350, 50);
    await device.touch('down', 50, 50);
    await device.touch('up', 50, 50);
    assert.deepEqual(device.short(), ['app:com.example.a tap ball', 'app:com.example.a tap']);
  });

  it('means what lay there when it began: not what came meanwhile, nor what went', async () => {
    await using device = bench();
    await device.touch('down', 350, 350);
    device.state.surfaces = [surface('ask', 'prompt', [button('allow', 300, 300)]), APP, HOME];
    await device.touch('up', 350, 350);
    assert.deepEqual(device.told, []);
    device.state.surfaces = [APP, HOME];
    await device.touch('down', 350, 350);
    device.state.surfaces = [{ ...APP, version: 2, scene: { scene: 1, nodes: [button('other', 300, 300)] } }, HOME];
    await device.touch('up', 350, 350);
    assert.deepEqual(device.told, [], 'the button is another one now');
    await device.touch('down', 350, 350);
    device.state.surfaces = device.state.surfaces.map((one) => ({ ...one, version: 3 }));
    await device.touch('up', 350, 350);
    assert.deepEqual(device.short(), ['app:com.example.a tap other'], 'a clock that went on is no other button');
  });

  it('does not answer a prompt that has just come', async () => {
    await using device = bench();
    device.state.surfaces = [surface('ask', 'prompt', [button('allow', 300, 300)], { shownAt: 0 }), APP];
    await device.clock.advance(600);
    await device.touch('down', 350, 350);
    await device.clock.advance(200);
    await device.touch('up', 350, 350);
    assert.deepEqual(device.told, [], 'the finger was on its way before');
    await device.tap(350, 350);
    assert.deepEqual(device.short(), ['ask tap allow']);
  });

  it('that is held is told after half a second, without being lifted', async () => {
    await using device = bench();
    await device.touch('down', 350, 350);
    await device.clock.advance(499);
    assert.deepEqual(device.told, []);
    await device.clock.advance(1);
    assert.deepEqual(device.short(), ['app:com.example.a long-press buy']);
    await device.touch('up', 350, 350);
    assert.equal(device.told.length, 1);
    assert.equal(device.clock.pending, 0);
  });

  it('is a swipe with a direction', async () => {
    await using device = bench();
    await device.touch('down', 600, 100);
    await device.touch('up', 200, 120);
    assert.deepEqual(device.short(), ['app:com.example.a swipe left']);
  });

  it('from the lower edge goes home, and no app hears of it', async () => {
    await using device = bench();
    await device.touch('down', 360, 719);
    await device.touch('move', 360, 400);
    await device.touch('up', 360, 300);
    assert.deepEqual([device.told, device.log], [[], ['touched', 'home']]);
  });

  it('on a dark panel wakes it and does nothing else, home included', async () => {
    await using device = bench({ dark: true });
    await device.tap(350, 350);
    assert.deepEqual([device.told, device.log], [[], ['touched', 'wake touch']]);
    device.state.dark = true;
    await device.touch('down', 360, 719);
    await device.touch('up', 360, 300);
    assert.equal(device.log.includes('home'), false);
    await device.tap(350, 350);
    assert.deepEqual(device.short(), ['app:com.example.a tap buy']);
  });
});

describe('injected input', () => {
  const SIM = { ...PANEL, id: 'sim', injected: true };
  for (const layer of ['prompt', 'system'] as const)
    it(`does not reach the layer ${layer}, but on simulated devices`, async () => {
      for (const simulated of [false, true]) {
        await using device = bench({ simulated });
        const sim = device.router.register(SIM);
        device.state.surfaces = [surface('ask', layer, [button('allow', 300, 300)], { modal: true }), APP, HOME];
        await device.tap(350, 350, sim);
        await device.key('play', 'down', sim);
        assert.deepEqual(device.short(), simulated ? ['ask tap allow', 'ask key play'] : []);
        assert.equal(device.router.refused, simulated ? 0 : 2);
        assert.ok(
          device.told.every(([id]) => id === 'ask'),
          'nothing falls through',
        );
        await device.tap(350, 350);
        assert.equal(device.short().at(-1), 'ask tap allow', 'a finger does');
      }
    });

  it('of a plugin from outside is injected under any name, unless the SKU trusts it', async () => {
    for (const [plugin, outside, reached] of [
      ['stranger', true, false],
      ['driver', true, true],
      ['input-evdev', false, true],
    ] as const) {
      await using device = bench();
      const measured = <A extends readonly unknown[], R>(_: unknown, fn: (...args: A) => R) => fn;
      const own = device.router[FOR_USER]({ plugin, outside, measured, failed: () => undefined });
      const source = own.register({ ...PANEL, id: plugin });
      device.state.surfaces = [surface('ask', 'prompt', [button('allow', 300, 300)])];
      await device.tap(350, 350, source);
      assert.equal(device.told.length > 0, reached, plugin);
    }
  });

  it('may mute, and never unmute', async () => {
    await using device = bench();
    await device.key('mute', 'down', device.router.register(SIM));
    await device.key('mute');
    assert.deepEqual(device.log, ['mute only', 'mute']);
  });
});

describe('a key', () => {
  it('goes to the app in the foreground, and with repeats', async () => {
    await using device = bench();
    await device.key('play');
    await device.key('play', 'repeat');
    await device.key('play', 'up');
    assert.deepEqual(device.short(), ['app:com.example.a key play', 'app:com.example.a key play']);
  });

  it('goes to a prompt while there is one, and to home where no app is open', async () => {
    await using device = bench();
    device.state.foreground = undefined;
    device.state.surfaces = [HOME];
    await device.key('play');
    device.state.surfaces = [surface('ask', 'prompt', []), APP, HOME];
    await device.key('side');
    assert.deepEqual(device.short(), ['home key play', 'ask key side']);
  });

  for (const keys of [{}, { home: { does: 'app' }, mute: { does: 'app', public: true } }] as Record<
    string,
    KeySetting
  >[])
    it(`named home or mute is never an app's (${JSON.stringify(keys)})`, async () => {
      await using device = bench({ keys });
      for (const name of ['home', 'mute'])
        for (const phase of ['down', 'repeat', 'up'] as const) await device.key(name, phase);
      assert.deepEqual(device.told, []);
      assert.ok(device.log.includes('home') && device.log.includes('mute'));
    });

  it('is public where the SKU says so, and has its end told also when its device goes', async () => {
    await using device = bench({ keys: { play: { public: true } } });
    await device.key('play');
    await device.key('side');
    await device.source.problem('pulled out');
    assert.deepEqual(
      device.log.filter((line) => line.startsWith('play') || line.startsWith('side')),
      ['play down', 'play up'],
    );
  });

  it('on a dark panel wakes it; mute mutes, and the key of the panel switches it', async () => {
    await using device = bench({ dark: true, keys: { side: { does: 'power' } } });
    await device.key('mute');
    assert.deepEqual(device.log, ['mute']);
    await device.key('play');
    await device.key('play', 'repeat');
    await device.key('play', 'up');
    assert.deepEqual(device.told, []);
    await device.key('side');
    assert.deepEqual(device.log, ['mute', 'touched', 'wake touch', 'power']);
  });

  it('that turns is told at once, and then in one with what follows', async () => {
    await using device = bench();
    const turn = (delta: number) => device.source.push([{ kind: 'rotary', name: 'knob', delta, at: 0 }]);
    for (const delta of [1, 1, 1, -5, 1]) await turn(delta);
    assert.deepEqual(device.short(), ['app:com.example.a rotary knob 1']);
    await device.clock.advance(100);
    assert.deepEqual(device.short(), ['app:com.example.a rotary knob 1', 'app:com.example.a rotary knob -2']);
    assert.equal(device.clock.pending, 0);
  });
});

describe('bad input', () => {
  const touch = (more: object): InputEvent =>
    ({ kind: 'touch', id: 1, phase: 'down', x: 1, y: 1, at: 0, ...more }) as InputEvent;
  const BAD: readonly (readonly [what: string, event: unknown])[] = [
    ['NaN', touch({ x: Number.NaN })],
    ['infinity', touch({ y: Number.POSITIVE_INFINITY })],
    ['no place', touch({ x: undefined })],
    ['half a finger', touch({ id: 0.5 })],
    ['a finger that is no number', touch({ id: 'thumb' })],
    ['an unknown phase', touch({ phase: 'hover' })],
    ['an unknown kind', { kind: 'brain' }],
    ['nothing', undefined],
    ['a key that it did not announce', { kind: 'key', name: 'format', phase: 'down', at: 0 }],
    ['an end without a beginning', { kind: 'key', name: 'play', phase: 'repeat', at: 0 }],
    ['a turn that never ends', { kind: 'rotary', name: 'knob', delta: 1e300, at: 0 }],
    ['half a detent', { kind: 'rotary', name: 'knob', delta: 0.5, at: 0 }],
  ];
  for (const [what, event] of BAD)
    it(`${what} is counted and left out`, async () => {
      await using device = bench();
      await device.source.push([event as InputEvent]);
      await device.tap(350, 350);
      assert.deepEqual(device.short(), ['app:com.example.a tap buy']);
      assert.equal(device.router.sources[0]?.counts.bad, 1);
    });

  it('a place outside is the nearest on the panel', async () => {
    await using device = bench();
    await device.tap(-1e9, 1e308);
    assert.deepEqual(
      device.told.map(([, { x, y }]) => [x, y]),
      [[0, 720]],
    );
  });

  it('a push that is too long is refused, and a second source of the same name', async () => {
    await using device = bench();
    await assert.rejects(device.source.push(Array.from({ length: 65 }, () => touch({}))), { code: 'PARAMS_INVALID' });
    assert.throws(() => device.router.register(PANEL), { code: 'PARAMS_INVALID' });
  });

  it('a device that goes lifts its fingers, and is well when it is back', async () => {
    await using device = bench();
    await device.touch('down', 350, 350);
    await device.source.problem('pulled out');
    await device.clock.advance(1_000);
    await device.touch('up', 350, 350);
    assert.deepEqual(device.told, []);
    assert.equal(device.clock.pending, 0);
    await device.source.problem(undefined);
    await device.tap(350, 350);
    assert.deepEqual(device.short(), ['app:com.example.a tap buy']);
    await device.source[Symbol.asyncDispose]();
    await device.tap(350, 350);
    assert.equal(device.told.length, 1, 'a source that is gone is not heard');
    device.router.register(PANEL);
  });

  it('of 10,000 taps in a second some are told, the others counted, and a second source is heard', async () => {
    await using device = bench();
    for (let index = 0; index < 10_000; index++) {
      if (index % 100 === 0) await device.clock.advance(10);
      await device.touch('down', 350, 350);
      await device.touch('up', 350, 350);
    }
    assert.ok(device.told.length >= 50 && device.told.length <= 102, `${device.told.length} were told`);
    const { dropped = 0 } = device.router.sources[0]?.counts ?? {};
    assert.equal(dropped + device.told.length, 10_000);
    const before = device.told.length;
    await device.tap(350, 350, device.router.register({ ...PANEL, id: 'other' }));
    assert.equal(device.told.length, before + 1);
    await device.clock.advance(1_000);
    await device.tap(350, 350);
    assert.equal(device.told.length, before + 2, 'and the first is heard again');
  });

  it('of any kind reaches the target alone, and no timer is left when all is lifted', async () => {
    const event = fc.oneof(
      fc.record({
        kind: fc.constant('touch'),
        id: fc.integer({ min: 0, max: 1_000 }),
        phase: fc.constantFrom('down', 'move', 'up', 'cancel'),
        x: fc.double(),
        y: fc.double({ min: -800, max: 1_600 }),
        at: fc.double(),
      }),
      fc.record({
        kind: fc.constant('key'),
        name: fc.constantFrom('home', 'mute', 'play'),
        phase: fc.constantFrom('down', 'up', 'repeat'),
        at: fc.double(),
      }),
      fc.record({ kind: fc.constant('rotary'), name: fc.constant('knob'), delta: fc.integer(), at: fc.double() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 64 }), async (events) => {
        await using device = bench();
        await device.source.push(events as InputEvent[]);
        await device.clock.advance(100);
        await device.source.problem('over');
        await device.clock.advance(20_000);
        assert.ok(device.told.every(([id]) => id === 'app:com.example.a'));
        assert.ok(device.told.every(([, { key }]) => key !== 'home' && key !== 'mute'));
        assert.equal(device.clock.pending, 0);
      }),
      { numRuns: runs(200) },
    );
  });
});
