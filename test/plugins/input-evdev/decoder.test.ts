import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InputEvent } from '@device-core/plugin-api/services/input';
import fc from 'fast-check';
import { ABS, BTN, EV, keyCode, SYN } from '../../../plugins/display/input-evdev/codes.ts';
import { Decoder, type Meaning, place, type TouchShape } from '../../../plugins/display/input-evdev/decoder.ts';
import { encodeRecord, type InputRecord, RecordSplitter } from '../../../plugins/display/input-evdev/records.ts';
import { FakeDevice } from '../../fixtures/evdev-device.ts';
import { runs } from '../../fixtures/runs.ts';

const AXIS = { min: 0, max: 719 };
const SLOTS: TouchShape = { kind: 'slots', slots: 5, x: AXIS, y: AXIS };
const SINGLE: TouchShape = { kind: 'single', button: BTN.touch, x: AXIS, y: AXIS };
const PLAIN = { rotate: 0, flipX: false, flipY: false } as const;
const MUTE = 113;
const DIAL = 7;

const meaning = (shape?: TouchShape): Meaning => ({
  ...(shape ? { touch: { shape, orientation: PLAIN } } : {}),
  keys: new Map([
    [MUTE, 'mute'],
    [28, 'ok'],
  ]),
  knobs: new Map([[DIAL, { name: 'volume', reverse: false }]]),
});

/** What somebody who only hears events holds to be so: fingers with their places, keys. Fails where an event makes no sense. */
class Heard {
  readonly fingers = new Map<number, readonly [number, number]>();
  readonly keys = new Set<string>();
  sum = 0;
  #last = Number.NEGATIVE_INFINITY;

  take(events: readonly InputEvent[]): void {
    for (const event of events) {
      assert.ok(event.at >= this.#last, 'time runs back');
      this.#last = event.at;
      if (event.kind === 'rotary') this.sum += event.delta;
      else if (event.kind === 'key') {
        assert.equal(this.keys.has(event.name), event.phase !== 'down', `key ${event.name} ${event.phase}`);
        if (event.phase === 'down') this.keys.add(event.name);
        if (event.phase === 'up') this.keys.delete(event.name);
      } else {
        assert.equal(this.fingers.has(event.id), event.phase !== 'down', `finger ${event.id} ${event.phase}`);
        assert.ok([event.x, event.y].every((at) => at >= 0 && at <= 720));
        if (event.phase === 'down' || event.phase === 'move') this.fingers.set(event.id, [event.x, event.y]);
        else this.fingers.delete(event.id);
      }
    }
  }
}

/** What the device knows, as Heard would have it. */
function truth(device: FakeDevice) {
  const down = [...device.slots.entries()].filter(([, { tracking }]) => tracking >= 0);
  const fingers = new Map(down.map(([slot, { x, y }]) => [slot, [x + 0.5, y + 0.5] as const]));
  const keys = new Set([...device.keys].flatMap((code) => ({ [MUTE]: ['mute'], 28: ['ok'] })[code] ?? []));
  return { fingers, keys };
}

type Act =
  | { readonly do: 'finger'; readonly slot: number; readonly x: number; readonly y: number; readonly lift: boolean }
  | { readonly do: 'key'; readonly code: number }
  | { readonly do: 'turn'; readonly by: number }
  | { readonly do: 'sync' }
  | { readonly do: 'lose' };

const coordinate = fc.integer({ min: 0, max: 719 });
const act = (slots: number): fc.Arbitrary<Act> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('finger' as const),
        slot: fc.nat(slots - 1),
        x: coordinate,
        y: coordinate,
        lift: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('key' as const), code: fc.constantFrom(MUTE, 28, 30) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('turn' as const), by: fc.constantFrom(-2, -1, 1, 3) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('sync' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
  );

/** Each slot and key at most once in a report, as no device is faster than its reports. */
function play(device: FakeDevice, acts: readonly Act[], lossy: boolean): readonly (readonly InputRecord[])[] {
  const reports: (readonly InputRecord[])[] = [];
  let touched = new Set<string>();
  let losing = false;
  const report = () => {
    const records = device.sync();
    const lost = { at: records[0]?.at ?? 0, type: EV.syn, code: SYN.dropped, value: 0 };
    // Of what was lost only the end came through.
    if (records.length > 0) reports.push(losing ? [lost, ...records.slice(records.length >> 1)] : records);
    touched = new Set();
    losing = false;
  };
  for (const one of acts) {
    const what = one.do === 'finger' ? `finger ${one.slot}` : one.do === 'key' ? `key ${one.code}` : '';
    if (what !== '' && touched.has(what)) continue;
    touched.add(what);
    if (one.do === 'sync') report();
    else if (one.do === 'lose') losing = lossy;
    else if (one.do === 'turn') device.turn(DIAL, one.by);
    else if (one.do === 'key') device.key(one.code, device.keys.has(one.code) ? 0 : 1);
    else {
      const down = (device.slots[one.slot]?.tracking ?? -1) >= 0;
      device.finger(one.slot, down ? (one.lift ? 'up' : 'move') : 'down', one.x, one.y);
    }
  }
  report();
  return reports;
}

describe('records of the kernel', () => {
  it('come through in any pieces', () => {
    const record = fc.record({
      at: fc.integer({ min: 0, max: 2 ** 40 }).map((micros) => micros / 1_000),
      type: fc.integer({ min: 0, max: 0xffff }),
      code: fc.integer({ min: 0, max: 0xffff }),
      value: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 60 })), (records, cuts) => {
        const bytes = Buffer.concat(records.map(encodeRecord));
        const splitter = new RecordSplitter();
        const got: InputRecord[] = [];
        let from = 0;
        for (const cut of [...cuts, bytes.length]) {
          got.push(...splitter.push(bytes.subarray(from, from + cut)));
          from += cut;
        }
        assert.equal(got.length, records.length);
        for (const [index, { at, ...rest }] of got.entries()) {
          assert.deepEqual(rest, {
            type: records[index]!.type,
            code: records[index]!.code,
            value: records[index]!.value,
          });
          assert.ok(Math.abs(at - records[index]!.at) < 0.001);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe('the decoder', () => {
  for (const [what, shape, slots] of [
    ['fingers in slots', SLOTS, 5],
    ['one finger', SINGLE, 1],
  ] as const)
    it(`tells ${what} and keys as they are after each report`, () => {
      fc.assert(
        fc.property(fc.array(act(slots), { maxLength: 60 }), (acts) => {
          const device = new FakeDevice(shape);
          const decoder = new Decoder(meaning(shape), () => assert.fail('nothing was lost'));
          const heard = new Heard();
          for (const report of play(device, acts, false)) for (const record of report) heard.take(decoder.push(record));
          const { fingers, keys } = truth(device);
          assert.deepEqual(heard.fingers, fingers);
          assert.deepEqual(heard.keys, keys);
        }),
        { numRuns: runs(2_000) },
      );
    });

  it('is right again after records were lost, wherever that was', () => {
    fc.assert(
      fc.property(fc.array(act(5), { maxLength: 40 }), fc.array(act(5), { maxLength: 40 }), (before, later) => {
        const device = new FakeDevice(SLOTS);
        const decoder = new Decoder(meaning(SLOTS), () => device.state());
        const heard = new Heard();
        for (const acts of [before, later]) {
          // The device is asked when the record is read: what it then says is newer than what is still to be read.
          for (const report of play(device, acts, true)) for (const record of report) heard.take(decoder.push(record));
        }
        device.finger(0, (device.slots[0]?.tracking ?? -1) >= 0 ? 'up' : 'down', 1, 2);
        const dropped = { at: 1, type: EV.syn, code: SYN.dropped, value: 0 };
        assert.deepEqual(decoder.push(dropped), []);
        for (const record of device.sync()) heard.take(decoder.push(record));
        assert.deepEqual(heard.fingers, truth(device).fingers);
        assert.deepEqual(heard.keys, truth(device).keys);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('makes sense of any records', () => {
    const record = fc.record({
      at: fc.double({ min: 0, max: 1e9, noNaN: true }),
      type: fc.constantFrom(0, 0, 1, 2, 3, 3, 3, 4, 0x15),
      code: fc.constantFrom(0, 1, 2, 3, 7, 28, 0x2f, 0x35, 0x36, 0x39, MUTE, BTN.touch),
      value: fc.oneof(fc.integer({ min: -2, max: 6 }), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
    });
    const state = fc.option(
      fc.record({
        at: fc.constantFrom(0, 1e8),
        slot: fc.integer({ min: -1, max: 6 }),
        fingers: fc.array(fc.record({ tracking: fc.integer({ min: -1, max: 3 }), x: fc.integer(), y: fc.integer() })),
        keys: fc.uniqueArray(fc.constantFrom(28, MUTE, BTN.touch)).map((codes) => new Set(codes)),
      }),
      { nil: undefined },
    );
    fc.assert(
      fc.property(fc.constantFrom(SLOTS, SINGLE, undefined), fc.array(record), state, (shape, records, now) => {
        const decoder = new Decoder(meaning(shape), () => now);
        const heard = new Heard();
        heard.take(decoder.sync(5));
        for (const one of records) heard.take(decoder.push(one));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('ends a finger as cancelled after an unseen end, and goes on with one that stayed', () => {
    const device = new FakeDevice(SLOTS);
    const decoder = new Decoder(meaning(SLOTS), () => device.state());
    const pushed = () => device.sync().flatMap((record) => decoder.push(record));
    device.finger(0, 'down', 100, 100);
    device.finger(1, 'down', 200, 200);
    pushed();
    device.finger(0, 'up', 0, 0);
    device.finger(1, 'move', 210, 200);
    decoder.push({ at: 1, type: EV.syn, code: SYN.dropped, value: 0 });
    const told = pushed().map((event) => event.kind === 'touch' && [event.id, event.phase, event.x]);
    assert.deepEqual(told, [
      [0, 'cancel', 100.5],
      [1, 'move', 210.5],
    ]);
  });

  it('tells a slot whose finger was replaced between two reports as an end and a beginning', () => {
    const decoder = new Decoder(meaning(SLOTS), () => undefined);
    const say = (...records: readonly (readonly [number, number, number])[]) =>
      [...records, [EV.syn, SYN.report, 0] as const].flatMap(([type, code, value]) =>
        decoder.push({ at: 1, type, code, value }),
      );
    say([EV.abs, ABS.trackingId, 7], [EV.abs, ABS.mtX, 10], [EV.abs, ABS.mtY, 20]);
    const told = say([EV.abs, ABS.trackingId, 8], [EV.abs, ABS.mtX, 30]);
    assert.deepEqual(
      told.map((event) => event.kind === 'touch' && [event.phase, event.x, event.y]),
      [
        ['up', 10.5, 20.5],
        ['down', 30.5, 20.5],
      ],
    );
  });

  it('hears nothing of a tablet that hovers, and of keys without a name', () => {
    const device = new FakeDevice(SINGLE);
    const decoder = new Decoder(meaning(SINGLE), () => device.state());
    device.finger(0, 'move', 100, 100);
    device.key(30, 1);
    assert.deepEqual(
      device.sync().flatMap((record) => decoder.push(record)),
      [],
    );
  });

  it('repeats a key as the kernel does', () => {
    const device = new FakeDevice();
    const decoder = new Decoder(meaning(), () => device.state());
    const phases = ([1, 2, 2, 0] as const).flatMap((value) => {
      device.key(MUTE, value);
      return device.sync().flatMap((record) => decoder.push(record));
    });
    assert.deepEqual(
      phases.map((event) => event.kind === 'key' && event.phase),
      ['down', 'repeat', 'repeat', 'up'],
    );
  });

  it('turns and flips the glass, each corner to its place', () => {
    const shape = { x: { min: 0, max: 99 }, y: { min: -50, max: 49 } };
    const corner = (rotate: 0 | 90 | 180 | 270, flipX = false, flipY = false) => {
      const { x, y } = place(shape, { rotate, flipX, flipY }, 0, -50);
      return `${x < 360 ? 'left' : 'right'} ${y < 360 ? 'top' : 'bottom'}`;
    };
    assert.deepEqual(
      [0, 90, 180, 270].map((rotate) => corner(rotate as 0)),
      ['left top', 'left bottom', 'right bottom', 'right top'],
    );
    assert.deepEqual(
      [corner(0, true), corner(0, false, true), corner(90, true)],
      ['right top', 'left bottom', 'left top'],
    );
    assert.deepEqual(place(shape, PLAIN, 49.5, -0.5), { x: 360, y: 360 });
    assert.deepEqual(place(shape, PLAIN, 1e9, -1e9), { x: 720, y: 0 });
  });

  it('knows keys by name and by number', () => {
    const cases = { KEY_MUTE: 113, '113': 113, '767': 767, '768': undefined, KEY_NOPE: undefined, mute: undefined };
    for (const [name, code] of Object.entries(cases)) assert.equal(keyCode(name), code, name);
  });
});
