/** What comes over sockets, buses and radios. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import type { CoreError } from '@device-core/plugin-api';
import { DBusError, encode, type Message, Variant } from '@device-core/plugin-api/inside/dbus';
import { Incoming } from '../../../plugin-api/inside/dbus/reader.ts';
import { openPacket } from '../../../plugins/hardware/cbp/packet.ts';
import { decodeNdef, encodeNdef } from '../../../plugins/hardware/nfc/ndef.ts';
import { decodePacket } from '../../../plugins/hardware/port-sim/sim/wire-format.ts';
import { FrameReader } from '../../../plugins/interface/rpc/frame-reader.ts';
import { EventReader, encodeEvent } from '../../../plugins/voice/wyoming/codec.ts';
import { type Target, WrongAcceptance } from '../target.ts';

const text = (...lines: readonly string[]): Buffer => Buffer.from(lines.join(''));

const RPC: Target = {
  name: 'rpc',
  form: 'bytes',
  words: ['{', '}', '[', ']', '"', '\\', '\n', '\r\n', '"bytes":', '"bytes":5', '{"a":"', '\u2028', '1e999', 'null'],
  async open() {
    const call = '{"jsonrpc":"2.0","id":1,"method":"events.publish","params":{"topic":"a.b","payload":{"x":[1,"é"]}}}';
    return {
      seeds: [
        text(call, '\n'),
        text(call, call, '\n', '{"jsonrpc":"2.0","method":"rpc.ready"}\n'),
        text('{"jsonrpc":"2.0","id":"b","method":"display.image","bytes":6}\n', 'abcdef', call, '\n'),
        text('[', call, ',', call, ']\n'),
      ],
      run: readFrames,
    };
  },
};

/** In pieces, as a socket gives them. */
function readFrames(bytes: Buffer): boolean {
  const refused: CoreError[] = [];
  let messages = 0;
  const reader = new FrameReader(
    {
      message(value, attachment) {
        messages += 1;
        const told = (value as { readonly bytes?: unknown } | null)?.bytes;
        if (told !== attachment?.length)
          throw new WrongAcceptance(`a message of ${String(told)} bytes came with ${attachment?.length}`);
      },
      malformed: (error) => refused.push(error),
      fatal: (error) => refused.push(error),
    },
    { lineBytes: 64 << 10, attachmentBytes: 64 << 10 },
  );
  const piece = 1 + (bytes.length % 97);
  for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece));
  reader.end();
  return refused.length === 0 && messages > 0;
}

const NDEF: Target = {
  name: 'ndef',
  form: 'bytes',
  async open() {
    return {
      seeds: [
        encodeNdef([{ type: 'text', text: 'Hello', language: 'en' }]),
        encodeNdef([
          { type: 'uri', uri: 'https://www.example.com/x' },
          { type: 'mime', mime: 'text/plain', data: Buffer.from('abc') },
          { type: 'external', name: 'example.com:x', data: Buffer.alloc(300, 7) },
        ]),
        Buffer.from('d101075482656e00480069', 'hex'),
        Buffer.from('d00000', 'hex'),
      ],
      run(bytes) {
        const records = decodeNdef(bytes);
        // An empty language is read and not written.
        if (records.some((record) => record.type === 'text' && record.language === '')) return true;
        const again = decodeNdef(encodeNdef(records));
        const same = records.length === 0 ? again.length === 0 : isDeepStrictEqual(again, records);
        if (!same) throw new WrongAcceptance(`records come back as others: ${JSON.stringify(records)}`);
        return true;
      },
    };
  },
};

const VECTORS = join(import.meta.dirname, '../../fixtures/cbp-vectors.json');
/** "ok" is false for those that are refused. */
interface Vector {
  readonly full: string;
  readonly ok?: boolean;
}
const [PACKET_HEAD, PACKET_END] = [8, 12];

const CBP: Target = {
  name: 'cbp',
  form: 'bytes',
  seal: {
    open: (bytes) => bytes,
    close(inner) {
      if (inner.length < PACKET_END) return inner;
      const end = PACKET_HEAD + Math.min(inner.readUInt16LE(6), inner.length - PACKET_END);
      inner.writeUInt32LE(crc32(inner.subarray(0, end)), end);
      return inner;
    },
  },
  async open() {
    const vectors = JSON.parse(readFileSync(VECTORS, 'utf8')) as readonly Vector[];
    return {
      seeds: vectors.filter(({ ok = true }) => ok).map(({ full }) => Buffer.from(full, 'hex')),
      run: bothReadings,
    };
  },
};

/** Host and simulated bridge read the same bytes, written apart from each other. */
function bothReadings(bytes: Buffer): boolean {
  const host = openPacket(bytes);
  const bridge = decodePacket(bytes);
  const rejected = typeof host === 'string' ? host : undefined;
  if (rejected !== (bridge.ok ? undefined : bridge.reason))
    throw new WrongAcceptance(`the host says ${rejected}, the bridge says ${bridge.ok ? 'fine' : bridge.reason}`);
  if (typeof host === 'string' || !bridge.ok) return false;
  const frames = host.frames.map(({ type, fin, ep, rid, op, aux, body }) => [type, fin, ep, rid, op, aux, body]);
  const others = bridge.frames.map((one) => [
    ...[one.type, one.fin, one.endpoint, one.rid, one.code, one.fragment, one.body],
  ]);
  const { isData, hasMore, isReset, seq, ack, sid } = bridge.packet;
  const heads = [
    [host.data, host.more, host.rst, host.seq, host.ack, host.sid],
    [isData, hasMore, isReset, seq, ack, sid],
  ];
  if (!isDeepStrictEqual(frames, others) || !isDeepStrictEqual(heads[0], heads[1]))
    throw new WrongAcceptance('host and bridge read different packets');
  return true;
}

const MOST_MESSAGE = 1 << 20;
const CALL: Message = {
  type: 'call',
  serial: 5,
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
  member: 'StartUnit',
  signature: 'ssa(sv)a{sv}',
  body: ['a.service', 'fail', [['b', new Variant('u', 1)]], new Map([['k', new Variant('at', [5n])]])],
};

const DBUS: Target = {
  name: 'dbus',
  form: 'bytes',
  words: ['a{sv}', 'v', '(', 'ay', '\0\0\0\0', '/', 'org.a'],
  async open() {
    const reply: Message = { type: 'reply', serial: 7, replySerial: 5, sender: ':1.3', signature: 'o', body: ['/a/b'] };
    const signal: Message = { type: 'signal', serial: 8, path: '/', interface: 'a.b', member: 'C', sender: ':1.3' };
    return {
      seeds: [encode(CALL), encode(reply), Buffer.concat([encode(signal), encode(reply)])],
      refuses: (error) => error instanceof DBusError,
      run(bytes) {
        const incoming = new Incoming(MOST_MESSAGE);
        const half = bytes.length >> 1;
        let count = 0;
        for (const part of [bytes.subarray(0, half), bytes.subarray(half)]) {
          incoming.add(part);
          for (const message of incoming.messages()) {
            count += 1;
            // A message that was read can be sent on as it is.
            encode(message);
          }
        }
        return count > 0;
      },
    };
  },
};

const WYOMING_LIMITS = { lineBytes: 4_096, dataBytes: 65_536, payloadBytes: 65_536 };

const WYOMING: Target = {
  name: 'wyoming',
  form: 'bytes',
  words: ['"data_length":', '"payload_length":', '"type":', '{}', '\n', '1e999', '-1', '__proto__'],
  async open() {
    return {
      seeds: [
        encodeEvent('describe'),
        encodeEvent('audio-chunk', { rate: 16_000, width: 2, channels: 1 }, Buffer.alloc(64, 3)),
        Buffer.concat([encodeEvent('transcribe', { language: 'en' }), encodeEvent('audio-stop')]),
      ],
      run(bytes) {
        const reader = new EventReader(WYOMING_LIMITS);
        const piece = 1 + (bytes.length % 41);
        let events = 0;
        for (let at = 0; at < bytes.length; at += piece)
          for (const { type, data, payload } of reader.push(bytes.subarray(at, at + piece))) {
            events += 1;
            const again = [...new EventReader(WYOMING_LIMITS).push(encodeEvent(type, data, payload))];
            if (again.length !== 1 || !isDeepStrictEqual(again[0]?.data, JSON.parse(JSON.stringify(data))))
              throw new WrongAcceptance(`an event comes back as another: ${type} ${JSON.stringify(data)}`);
          }
        return events > 0 && !reader.within;
      },
    };
  },
};

export const WIRE: readonly Target[] = [RPC, NDEF, CBP, DBUS, WYOMING];
