/** The client of D-Bus: what goes over the wire, what a peer may not do to it, and a real bus. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import {
  connectDBus,
  type DBus,
  DBusError,
  type DBusValue,
  decode,
  encode,
  lengthOf,
  type Message,
  marshal,
  unmarshal,
  Variant,
} from '@device-core/plugin-api/inside/dbus';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { FakeBus, realBus, stranger, WITHOUT_DBUS } from '../fixtures/dbus-peer.ts';
import { eventually, turns } from '../fixtures/eventually.ts';
import { runs } from '../fixtures/runs.ts';
import { part } from '../fixtures/scope.ts';

after(leakCheck());

interface Typed {
  readonly signature: string;
  readonly value: DBusValue;
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((one) => !one.includes('\0'));
const object = fc.array(fc.stringMatching(/^\w{1,5}$/), { maxLength: 3 }).map((names) => `/${names.join('/')}`);
const typed = (signature: string, values: fc.Arbitrary<DBusValue>): fc.Arbitrary<Typed> =>
  values.map((value) => ({ signature, value }));
const BASIC = [
  typed('y', fc.nat(255)),
  typed('b', fc.boolean()),
  typed('n', fc.integer({ min: -0x8000, max: 0x7fff })),
  typed('q', fc.nat(0xffff)),
  typed('i', fc.integer()),
  typed('u', fc.nat(0xffff_ffff)),
  typed('x', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  typed('t', fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  typed('d', fc.double()),
  typed('s', text),
  typed('o', object),
  typed('g', fc.constantFrom('', 's', 'a{sv}', 'a(yv)', '(ii)aay')),
];
const { any } = fc.letrec<{ any: Typed }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    ...BASIC,
    typed('ay', fc.uint8Array({ maxLength: 20 })),
    typed('as', fc.array(text, { maxLength: 4 })),
    tie('any').map(({ signature, value }) => ({ signature: 'v', value: new Variant(signature, value) })),
    fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((members) => ({
      signature: `(${members.map(({ signature }) => signature).join('')})`,
      value: members.map(({ value }) => value),
    })),
    tie('any').map(({ signature, value }) =>
      signature === 'y' ? { signature: 's', value: '' } : { signature: `a${signature}`, value: [value, value] },
    ),
    fc.tuple(text, tie('any')).map(([key, { signature, value }]) => ({
      signature: `a{s${signature}}`,
      value: new Map([[key, value]]),
    })),
  ),
}));

const CALL: Message = {
  type: 'call',
  serial: 5,
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',

  interface: 'org.freedesktop.systemd1.Manager',
  member: 'StartUnit',
  signature: 'ss',
  body: ['a.service', 'fail'],
};

describe('values', () => {
  test('come out as they went in, of any type', () => {
    fc.assert(
      fc.property(fc.array(any, { maxLength: 4 }), (list) => {
        const signature = list.map((one) => one.signature).join('');
        const values = list.map(({ value }) => value);
        assert.deepEqual(unmarshal(signature, marshal(signature, values)), values);
      }),
      { numRuns: runs(2_000) },
    );
  });

  const WIRE: readonly [signature: string, values: readonly DBusValue[], hex: string][] = [
    ['yu', [1, 2], '01000000 02000000'],
    ['s', ['foo'], '03000000 666f6f00'],
    ['g', ['a{sv}'], '05617b73767d00'],
    ['t', [2n ** 64n - 1n], 'ffffffffffffffff'],
    ['at', [[5n]], '08000000 00000000 0500000000000000'],
    ['a{sv}', [new Map([['A', new Variant('b', true)]])], '10000000 00000000 01000000 4100 01 6200 000000 01000000'],
    ['a(yv)', [[]], '00000000 00000000'],
  ];
  for (const [signature, values, hex] of WIRE)
    test(`of ${signature} are these bytes`, () => {
      assert.equal(Buffer.from(marshal(signature, values)).toString('hex'), hex.replaceAll(' ', ''));
    });

  test('of a peer with the other byte order are understood', () => {
    assert.deepEqual(unmarshal('qut', Buffer.from('00010000000000020000000000000003', 'hex'), false), [1, 2, 3n]);
  });

  const UNFIT: readonly [why: string, signature: string, value: unknown][] = [
    ['a byte of 256', 'y', 256],
    ['a fraction', 'u', 1.5],
    ['a negative unsigned', 't', -1n],
    ['a number as text', 's', 5],
    ['a text with a zero byte', 's', 'a\0b'],
    ['half a character', 's', '\ud800'],
    ['a path without a slash', 'o', 'a/b'],
    ['a signature that is none', 'g', 'a'],
    ['a variant of two types', 'v', new Variant('ss', ['a', 'b'])],
    ['a struct with too few members', '(ss)', ['a']],
    ['an object as a dictionary', 'a{sv}', { a: 1 }],
    ['nothing', 's', null],
    ['a list of numbers as bytes', 'ay', [1, 2]],
  ];
  for (const [why, signature, value] of UNFIT)
    test(`are refused before they are sent: ${why}`, () => {
      assert.throws(() => marshal(signature, [value as DBusValue]), DBusError);
    });

  const SIGNATURES = [
    'a',
    '(',
    '()',
    'a{}',
    'a{vs}',
    'a{sss}',
    '{sv}',
    'z',
    ')',
    `${'a'.repeat(33)}y`,
    'y'.repeat(256),
  ];
  for (const signature of SIGNATURES)
    test(`have no signature like ${signature.slice(0, 12)}`, () => {
      assert.throws(() => unmarshal(signature, new Uint8Array(64)), DBusError);
    });

  const LIES: readonly [why: string, signature: string, hex: string][] = [
    ['an array longer than the message', 'as', 'ffffff03'],
    ['an array longer than allowed', 'as', 'ffffffff'],
    ['an element that ends behind its array', 'as', '01000000 03000000 666f6f00'],
    ['a text that is not UTF-8', 's', '01000000 ff00'],
    ['a text without its end', 's', '01000000 6161'],
    ['a zero byte inside a text', 's', '01000000 0000'],
    ['a boolean of 2', 'b', '02000000'],
    ['a boundary filled with something', 'yu', '01010101 02000000'],
    ['bytes behind the end', 'y', '0101'],
    ['a path that is none', 'o', '02000000 2f2f00'],
    ['a variant of nothing', 'v', '0000'],
    ['variants without end', 'v', '017600'.repeat(200)],
  ];
  for (const [why, signature, hex] of LIES)
    test(`that lie are refused: ${why}`, () => {
      assert.throws(() => unmarshal(signature, Buffer.from(hex.replaceAll(' ', ''), 'hex')), DBusError);
    });
});

describe('messages', () => {
  test('come out as they went in', () => {
    const bytes = encode(CALL);
    assert.equal(lengthOf(bytes, 1 << 20), bytes.length);
    assert.deepEqual(decode(bytes), { ...CALL, noReply: false });
  });

  test('of any bytes are a message or a DBusError, soon', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 400 }), (bytes) => readOnlyThrows(bytes)),
      { numRuns: runs(3_000) },
    );
  });

  test('with a few bytes changed are a message or a DBusError', () => {
    const whole = encode(CALL);
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(whole.length - 16), (changes, less) => {
        const bytes = whole.slice(0, whole.length - less);
        for (const [at, value] of changes) bytes[at] = value;
        readOnlyThrows(bytes);
      }),
      { numRuns: runs(3_000) },
    );
  });

  const BAD: readonly [why: string, message: Partial<Message>][] = [
    ['a member with a dot', { member: 'a.b' }],
    ['a destination with a quote', { destination: "a'b.c" }],
    ['no path', { path: undefined as never }],
    ['an interface of 300 characters', { interface: `a.${'b'.repeat(300)}` }],
  ];
  for (const [why, message] of BAD)
    test(`are refused before they are sent: ${why}`, () =>
      assert.throws(() => encode({ ...CALL, ...message }), DBusError));
});

function readOnlyThrows(bytes: Uint8Array): void {
  try {
    if (lengthOf(bytes, 1 << 20) <= bytes.length) decode(bytes.subarray(0, lengthOf(bytes, 1 << 20)));
  } catch (error) {
    assert.ok(error instanceof DBusError, String(error));
  }
}

const TO = { destination: 'org.freedesktop.systemd1', path: '/o', interface: 'a.b' };
const RULE = { sender: 'org.freedesktop.systemd1', interface: 'a.b', member: 'Told' };

describe('a connection', () => {
  test('logs in, calls, and hears signals, in pieces of any length', async () => {
    for (const piece of [1, 7, 4_096]) {
      await using bus = await FakeBus.open({
        piece,
        answer: ({ body = [] }) => ({ signature: 'v', body: [new Variant('s', body[0]!)] }),
      });
      await using own = part();
      const dbus = await connectDBus({ path: bus.path, scope: own.scope });
      assert.deepEqual(await dbus.call({ ...TO, member: 'Echo', signature: 's', body: ['hello'] }), [
        new Variant('s', 'hello'),
      ]);
      const heard: unknown[] = [];
      const watch = await dbus.watch({ ...RULE, first: 'x' }, (signal) => heard.push(signal));
      bus.emit({ path: '/o', interface: 'a.b', member: 'Told', signature: 's', body: ['x'] });
      bus.emit({ path: '/o', interface: 'a.b', member: 'Told', signature: 's', body: ['y'] });
      bus.emit({ path: '/o', interface: 'a.b', member: 'Other', signature: 's', body: ['x'] });
      await dbus.call({ ...TO, member: 'Echo', signature: 's', body: ['later'] });
      assert.deepEqual(heard, [{ path: '/o', body: ['x'] }]);
      watch[Symbol.dispose]();
    }
  });

  test('throws what the peer answered', async () => {
    await using bus = await FakeBus.open({
      answer: () => ({ error: 'a.b.NoSuchUnit', signature: 's', body: ['no unit'] }),
    });
    await using own = part();
    const dbus = await connectDBus({ path: bus.path, scope: own.scope });
    await assert.rejects(dbus.call({ ...TO, member: 'Get' }), {
      name: 'DBusError',
      error: 'a.b.NoSuchUnit',
      message: 'no unit',
    });
  });

  test('waits for an answer as long as the clock of its scope says, and no longer', async () => {
    await using bus = await FakeBus.open();
    const clock = virtualClock();
    await using own = part(clock);
    const dbus = await connectDBus({ path: bus.path, scope: own.scope });
    const waiting = assert.rejects(dbus.call({ ...TO, member: 'Slow', timeoutMs: 700 }), { code: 'TIMEOUT' });
    await eventually(() => bus.calls.some(({ member }) => member === 'Slow'), 'the call');
    await clock.advance(701);
    await waiting;
  });

  test('refuses a call beyond its limit', async () => {
    await using bus = await FakeBus.open();
    await using own = part();
    const dbus = await connectDBus({ path: bus.path, scope: own.scope, mostCalls: 2 });
    const waiting = [1, 2].map(() => assert.rejects(dbus.call({ ...TO, member: 'Slow' })));
    await assert.rejects(dbus.call({ ...TO, member: 'Third' }), { error: 'org.freedesktop.DBus.Error.LimitsExceeded' });
    dbus[Symbol.dispose]();
    await Promise.all(waiting);
  });

  test('ends with its scope and with its bus, and everybody who waits is told', async () => {
    for (const end of ['scope', 'bus'] as const) {
      await using bus = await FakeBus.open();
      await using own = part();
      const dbus = await connectDBus({ path: bus.path, scope: own.scope });
      const waiting = assert.rejects(dbus.call({ ...TO, member: 'Slow' }));
      if (end === 'bus') bus.close();
      else await own.scope[Symbol.asyncDispose]();
      await waiting;
      assert.equal((await dbus.ended).error, 'org.freedesktop.DBus.Error.Disconnected');
      await assert.rejects(dbus.call({ ...TO, member: 'Late' }));
    }
  });

  test('heeds no signal of a peer that does not own the name', async () => {
    await using bus = await FakeBus.open({ answer: () => ({}) });
    await using own = part();
    const dbus = await connectDBus({ path: bus.path, scope: own.scope });
    const heard: unknown[] = [];
    await dbus.watch(RULE, (signal) => heard.push(signal));
    const signal = { path: '/o', interface: 'a.b', member: 'Told' };
    bus.emit({ ...signal, sender: ':1.66' });
    bus.emit({ ...signal, sender: 'org.freedesktop.systemd1' });
    bus.emit({
      sender: ':1.66',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'NameOwnerChanged',
      signature: 'sss',
      body: ['org.freedesktop.systemd1', ':1.1', ':1.66'],
    });
    bus.emit({ ...signal, sender: ':1.66' });
    await dbus.call({ ...TO, member: 'Ping' });
    assert.deepEqual(heard, []);
    bus.emit(signal);
    await dbus.call({ ...TO, member: 'Ping' });
    assert.equal(heard.length, 1);
  });

  const PEERS: readonly [why: string, error: string, raw: (socket: Socket) => void][] = [
    ['refuses the log-in', 'AuthFailed', (socket) => socket.write('REJECTED EXTERNAL\r\n')],
    ['says a line without end', 'LimitsExceeded', (socket) => socket.write('x'.repeat(5_000))],
    ['goes in the middle', 'Disconnected', (socket) => socket.end('OK 0')],
    [
      'speaks something else',
      'InconsistentMessage',
      (socket) => socket.write(`OK ${'a'.repeat(32)}\r\nHTTP/1.1 400 Bad Request\r\n`),
    ],
    [
      'announces a message of 4 GiB',
      'LimitsExceeded',
      (socket) =>
        socket.write(
          Buffer.concat([
            Buffer.from(`OK ${'a'.repeat(32)}\r\n`),
            Buffer.from('6c010001f0ffffff01000000f0ffffff', 'hex'),
          ]),
        ),
    ],
    [
      'answers with a body that is not what it says',
      'InconsistentMessage',
      (socket) => {
        const reply = encode({ type: 'reply', serial: 1, replySerial: 1, signature: 's', body: ['a'] });
        reply[reply.length - 1] = 1;
        socket.write(Buffer.concat([Buffer.from(`OK ${'a'.repeat(32)}\r\n`), reply]));
      },
    ],
  ];
  for (const [why, error, raw] of PEERS)
    test(`is not made to a peer that ${why}`, async () => {
      await using bus = await FakeBus.open({ raw });
      await using own = part();
      await assert.rejects(connectDBus({ path: bus.path, scope: own.scope }), {
        error: `org.freedesktop.DBus.Error.${error}`,
      });
    });

  test('is not made to a silent peer, and not to a missing one', async () => {
    const asked = Promise.withResolvers<void>();
    await using bus = await FakeBus.open({ raw: (socket) => socket.once('data', () => asked.resolve()) });
    const clock = virtualClock();
    await using own = part(clock);
    const waiting = assert.rejects(connectDBus({ path: bus.path, scope: own.scope, timeoutMs: 300 }), {
      code: 'TIMEOUT',
    });
    await asked.promise;
    await clock.advance(301);
    await waiting;
    await assert.rejects(connectDBus({ path: `${bus.path}.none`, scope: own.scope }), {
      error: 'org.freedesktop.DBus.Error.Disconnected',
    });
  });

  test('survives answers without a caller, and answers a call with an error', async () => {
    await using bus = await FakeBus.open({ answer: () => ({}) });
    await using own = part();
    const dbus = await connectDBus({ path: bus.path, scope: own.scope });
    await dbus.call({ ...TO, member: 'Ping' });
    bus.emit({ path: '/o', interface: 'a.b', member: 'Unasked' });
    await turns();
    await dbus.call({ ...TO, member: 'Ping' });
  });
});

describe('a real bus', { skip: WITHOUT_DBUS }, () => {
  const NAME = 'org.example.teller';
  const names = async (dbus: DBus): Promise<DBusValue> =>
    (
      await dbus.call({
        destination: 'org.freedesktop.DBus',
        path: '/org/freedesktop/DBus',
        interface: 'org.freedesktop.DBus',
        member: 'ListNames',
      })
    )[0]!;

  test('takes the log-in, the rules and the calls; a forged signal is not heard, the owner is', async () => {
    await using bus = await realBus();
    await using own = part();
    const dbus = await connectDBus({ path: bus.path, scope: own.scope });
    const mine = ((await names(dbus)) as readonly string[]).find((name) => name.startsWith(':'))!;
    const heard: DBusValue[] = [];
    await dbus.watch({ sender: NAME, interface: 'a.b', member: 'Told' }, ({ body }) => heard.push(body[0]!));
    using teller = await stranger(bus.path);
    using forger = await stranger(bus.path);
    const signal = { type: 'signal', serial: 3, path: '/o', interface: 'a.b', member: 'Told', signature: 's' } as const;
    const request = {
      type: 'call',
      serial: 2,
      destination: 'org.freedesktop.DBus',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'RequestName',
      signature: 'su',
    } as const;
    teller.send({ ...request, body: [NAME, 4] });
    await eventually(async () => ((await names(dbus)) as readonly string[]).includes(NAME), 'the name');
    forger.send({ ...signal, destination: mine, body: ['forged'] });
    forger.send({ ...signal, body: ['forged, too'] });
    teller.send({ ...signal, body: ['true'] });
    teller.send({ ...signal, destination: mine, body: ['true, too'] });
    await eventually(() => heard.length >= 2, 'the signals');
    assert.deepEqual(heard, ['true', 'true, too']);
    await assert.rejects(dbus.call({ destination: 'org.example.nobody', path: '/', interface: 'a.b', member: 'C' }), {
      error: 'org.freedesktop.DBus.Error.ServiceUnknown',
    });
    // Somebody calls this client, which offers nothing: the answer is an error, and the connection stays.
    forger.send({ type: 'call', serial: 9, destination: mine, path: '/', interface: 'a.b', member: 'Do' });
    assert.ok(await names(dbus));
  });

  test('that is killed ends the connection, and its callers are told', async () => {
    await using bus = await realBus();
    await using own = part();
    const dbus = await connectDBus({ path: bus.path, scope: own.scope });
    bus.kill();
    assert.match((await dbus.ended).message, /the connection has ended/);
    await assert.rejects(names(dbus), DBusError);
  });
});
