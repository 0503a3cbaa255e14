/** Every control of a simulated device, as data: operations, commands, the page and scenarios are views of this table. */

import { base64Schema } from '@device-core/plugin-api/operation-kit';
import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';

export interface Control {
  /** `sim.<id>` is its operation. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly cli?: CliView;
  /** It asks and changes nothing: `GET`, and no part of scenarios. */
  readonly reads?: true;
  /** The operation of another plugin that does it; absent: the simulated bridge, or this plugin itself. */
  readonly operation?: string;
  /** Bytes of its request, where they are more than the usual. */
  readonly bodyLimit?: number;
}

export const NETWORK_STATES = ['online', 'local', 'offline'] as const;
export const POWER_STATES = ['ok', 'charging', 'low', 'critical', 'shutting-down'] as const;

const MOST_MS = 3_600_000;
const MOST_WAV = 3 << 20;
const share: JsonSchema = { type: 'number', minimum: 0, maximum: 1, default: 0 };
const ms: JsonSchema = { type: 'integer', minimum: 0, maximum: MOST_MS, description: 'milliseconds' };
const endpoint: JsonSchema = {
  type: 'string',
  pattern: '^[a-z][a-z0-9-]{0,31}$',
  description: 'of the board: `gpio0`',
};
const line: JsonSchema = { type: 'integer', minimum: 0, maximum: 31 };
const address: JsonSchema = { type: 'integer', minimum: 0, maximum: 1023 };
const there: JsonSchema = { type: 'boolean' };
const transactions: JsonSchema = { type: 'integer', minimum: 0, maximum: 1_000_000 };
const text = (maxLength: number): JsonSchema => ({ type: 'string', maxLength });
/** Which chip, where the board has more than one of its kind. */
const WHICH = { endpoint, address };
const units: JsonSchema = { type: 'number', minimum: 0, maximum: 100_000, description: 'panel units' };

export const CONTROLS: readonly Control[] = [
  // ---- the wire to the bridge ----
  {
    id: 'faults',
    summary: 'Make the wire to the bridge noisy',
    required: [],
    description:
      'Shares of bits and of transactions that go wrong; what is left out is 0. Nothing given: a clean wire.',
    params: {
      bitErrorRate: { ...share, description: 'share of bits that are wrong' },
      zeroed: { ...share, description: 'share of transactions in which the bridge is not ready' },
      stale: { ...share, description: 'share in which one side gets the packet before once more' },
      slipped: { ...share, description: 'share in which one side is shifted by some bits' },
      truncated: { ...share, description: 'share that ends early' },
      seed: {
        type: 'integer',
        minimum: 0,
        maximum: 0xffff_ffff,
        default: 1,
        description: 'of chance, which repeats itself',
      },
    },
    cli: { done: 'the wire has these faults now' },
  },
  {
    id: 'silence',
    summary: 'Let the bridge neither listen nor answer for a while',
    required: ['ms'],
    params: { ms, byte: { enum: [0, 255], default: 255, description: 'what the wire shows meanwhile' } },
    cli: { done: 'the bridge is silent for {ms} ms' },
  },
  {
    id: 'mute',
    summary: 'Let transactions get no answer at all',
    required: ['muted'],
    params: { muted: { type: 'boolean' } },
    cli: { done: 'muted: {muted}' },
  },
  {
    id: 'crash',
    summary: 'Crash the bridge: it forgets everything and comes back',
    required: [],
    params: {
      transactions: { ...transactions, default: 0, description: 'after so many more' },
      ms: { ...ms, default: 500, description: 'milliseconds until it is back' },
    },
    cli: { done: 'the bridge crashes' },
  },
  {
    id: 'die',
    summary: 'End the process of the bridge in the middle of a transaction',
    required: [],
    description: 'The Core starts it again.',
    params: { transactions: { ...transactions, default: 0, description: 'after so many more' } },
    cli: { done: 'the process of the bridge ends' },
  },
  {
    id: 'major',
    summary: 'Let the bridge claim another version of the protocol',
    required: ['version'],
    description: 'It counts from the next greeting on.',
    params: { version: { type: 'integer', minimum: 0, maximum: 255 } },
    cli: { done: 'the next greeting claims version {version}' },
  },
  {
    id: 'log',
    summary: 'Let the bridge have something for the log',
    required: ['text'],
    params: { text: text(200), level: { type: 'integer', minimum: 0, maximum: 7, default: 2 } },
    cli: { done: 'the bridge says: {text}' },
  },
  // ---- its endpoints ----
  {
    id: 'slow',
    summary: 'Let each operation of an endpoint start later',
    required: ['endpoint', 'ms'],
    params: { endpoint, ms },
    cli: { done: '{endpoint} starts {ms} ms later' },
  },
  {
    id: 'changed',
    summary: 'Let the bridge say that an endpoint went, or came back',
    required: ['endpoint', 'there'],
    params: { endpoint, there },
    cli: { done: '{endpoint} is there: {there}' },
  },
  {
    id: 'drive',
    summary: 'Drive a line from outside, or let go of it',
    required: ['endpoint', 'line'],
    params: {
      endpoint,
      line,
      level: {
        type: ['integer', 'null'],
        enum: [0, 1, null],
        default: null,
        description: 'absent or null: it is not driven',
      },
    },
    cli: { fixed: ['endpoint', 'line', 'level'], done: 'line {line} of {endpoint} is as it was asked for' },
  },
  {
    id: 'pulse',
    summary: 'Let a line go up and down, faster than anybody can be told',
    required: ['endpoint', 'line'],
    params: { endpoint, line, times: { type: 'integer', minimum: 1, maximum: 10_000, default: 1 } },
    cli: { done: 'line {line} of {endpoint} went up and down' },
  },
  {
    id: 'stick',
    summary: 'Hold an I2C bus down',
    required: ['endpoint'],
    params: {
      endpoint,
      recoveries: {
        type: ['integer', 'null'],
        minimum: 0,
        maximum: 1000,
        default: null,
        description: 'after so many it is free; 0 lets go; absent or null: it never is',
      },
      later: { type: 'boolean', default: false, description: 'once the next transfer went out' },
    },
    cli: { done: '{endpoint} is held down' },
  },
  {
    id: 'plug',
    summary: 'Pull a chip out of an I2C bus, or put it back',
    required: ['endpoint', 'address', 'there'],
    params: { endpoint, address, there },
    cli: { done: 'chip {address} of {endpoint} is there: {there}' },
  },
  {
    id: 'chip',
    summary: 'Change what a chip senses',
    required: ['endpoint', 'address', 'change'],
    params: {
      endpoint,
      address,
      change: { type: 'object', maxProperties: 16, description: '`{temperature: 30}`, `{tag: {uid, ndef}}`' },
    },
    cli: { done: 'chip {address} of {endpoint} senses something else' },
  },
  {
    id: 'say',
    summary: 'Let the other end of a UART say something',
    required: ['endpoint', 'text'],
    params: { endpoint, text: text(4096) },
    cli: { done: '{endpoint} hears it' },
  },
  {
    id: 'garble',
    summary: 'Let a UART receive something wrong',
    required: ['endpoint'],
    params: {
      endpoint,
      bits: {
        type: 'integer',
        minimum: 1,
        maximum: 15,
        default: 4,
        description: '1 overrun, 2 parity, 4 framing, 8 break',
      },
    },
    cli: { done: '{endpoint} received something wrong' },
  },
  {
    id: 'can',
    summary: 'Let another node send a CAN frame',
    required: ['endpoint', 'id'],
    params: {
      endpoint,
      id: { type: 'integer', minimum: 0, maximum: 0xffff_ffff },
      data: { type: 'array', maxItems: 8, default: [], items: { type: 'integer', minimum: 0, maximum: 255 } },
    },
    cli: { done: 'frame {id} on {endpoint}' },
  },
  {
    id: 'short',
    summary: 'Short the wires of a CAN bus, or make them whole',
    required: ['endpoint', 'broken'],
    params: { endpoint, broken: { type: 'boolean' } },
    cli: { done: 'the wires of {endpoint} are shorted: {broken}' },
  },
  {
    id: 'heal',
    summary: 'Make everything well again',
    required: [],
    params: {},
    description: 'No fault any more on the wire, the endpoints and the panel. What is sensed and driven stays.',
    cli: { done: 'everything is well again' },
  },
  // ---- what is around the device ----
  {
    id: 'weather',
    summary: 'Make it warmer, damper, or change the pressure',
    required: [],
    params: {
      temperature: { type: 'number', minimum: -40, maximum: 85, description: 'degrees Celsius' },
      humidity: { type: 'number', minimum: 0, maximum: 100, description: 'percent' },
      pressure: { type: 'number', minimum: 300, maximum: 1100, description: 'hPa' },
      ...WHICH,
    },
    cli: { done: 'the sensor feels it' },
  },
  {
    id: 'tag',
    summary: 'Lay a tag on the NFC reader',
    required: [],
    params: {
      uid: { type: 'string', pattern: '^([0-9a-f]{8}|[0-9a-f]{14}|[0-9a-f]{20})$', default: '04a1b2c3d4e5f6' },
      text: { ...text(100), description: 'a record of text' },
      uri: { ...text(100), description: 'a record with an address' },
      language: { type: 'string', pattern: '^[A-Za-z-]{2,20}$', default: 'en' },
      locked: { type: 'boolean', default: false, description: 'it cannot be written' },
      ...WHICH,
    },
    cli: { done: ['tag {uid} lies on the reader', 'a tag lies on the reader'] },
  },
  {
    id: 'untag',
    summary: 'Take the tag from the NFC reader',
    required: [],
    params: WHICH,
    cli: { done: 'no tag lies on the reader' },
  },
  {
    id: 'presence',
    summary: 'Let a person come, or go',
    required: ['moving'],
    description: 'The line of the motion detector. Who stands still is believed in for a while.',
    params: { moving: { type: 'boolean' } },
    cli: { done: 'a person moves: {moving}' },
  },
  {
    id: 'network',
    summary: 'Reach of the network',
    required: ['state'],
    description:
      'The plugin `network` tells `system.network`. The simulated device itself stays connected to the machine it runs on.',
    params: {
      state: { enum: NETWORK_STATES },
      type: { enum: ['ethernet', 'wifi', 'mobile', 'none'], default: 'wifi' },
      metered: { type: 'boolean', default: false },
    },
    cli: { done: 'network: {state}' },
  },
  {
    id: 'power',
    summary: 'Power source of the device',
    required: ['source'],
    description: 'The plugin `power` tells `system.power`.',
    params: {
      source: { enum: ['mains', 'battery'] },
      level: { type: 'number', minimum: 0, maximum: 1 },
      state: { enum: POWER_STATES, default: 'ok' },
      reason: text(200),
    },
    cli: { done: 'power: {source}' },
  },
  {
    id: 'time',
    summary: 'Whether the clock was set, and in which zone the device is',
    required: [],
    description: 'The plugin `time` tells `system.time`. The clock itself stays that of the machine.',
    params: {
      set: { type: 'boolean', default: true },
      zone: { ...text(64), description: '`Europe/Berlin`; absent: that of the machine' },
    },
    cli: { done: ['the clock was set: {set}', 'the time is as it was asked for'] },
  },
  // ---- what the person at the device does ----
  {
    id: 'touch',
    summary: 'Touch the panel',
    required: ['x', 'y'],
    operation: 'display.touch',
    description: 'A tap; with `phase` one event of a finger that is led by hand.',
    params: {
      x: units,
      y: units,
      ms: { type: 'integer', minimum: 1, maximum: 10_000, default: 50 },
      phase: { enum: ['tap', 'down', 'move', 'up', 'cancel'], default: 'tap' },
      finger: { type: 'integer', minimum: 0, maximum: 9, default: 0 },
    },
    cli: { done: 'touched' },
  },
  {
    id: 'swipe',
    summary: 'Swipe over the panel',
    required: ['x', 'y', 'toX', 'toY'],
    operation: 'display.swipe',
    params: {
      x: units,
      y: units,
      toX: units,
      toY: units,
      ms: { type: 'integer', minimum: 1, maximum: 10_000, default: 200 },
    },
    cli: { done: 'swiped' },
  },
  {
    id: 'key',
    summary: 'Press a key of the device',
    required: ['name'],
    operation: 'display.key',
    params: { name: { ...text(32), minLength: 1 }, ms: { type: 'integer', minimum: 1, maximum: 10_000, default: 50 } },
    cli: { done: 'pressed {name}' },
  },
  {
    id: 'cable',
    summary: 'Pull the cable of the panel, or put it back',
    required: ['plugged'],
    operation: 'panel.plug',
    params: { plugged: { type: 'boolean' } },
    cli: { done: 'plugged: {plugged}' },
  },
  {
    id: 'hear',
    summary: 'Let the microphone hear a WAV file',
    required: ['wav'],
    operation: 'audio.inject',
    params: {
      wav: base64Schema(MOST_WAV, 'A WAV file'),
      gain: { type: 'number', minimum: 0, maximum: 4, default: 1 },
      over: { type: 'boolean', default: false, description: 'now, over other sounds' },
    },
    bodyLimit: MOST_WAV * 2,
    cli: { hide: true },
  },
  // ---- questions ----
  {
    id: 'counts',
    summary: 'Counters of the wire and of each endpoint',
    required: [],
    params: {},
    reads: true,
  },
  {
    id: 'settings',
    summary: 'Settings of an endpoint of the bridge',
    required: ['endpoint'],
    params: { endpoint },
    reads: true,
  },
  {
    id: 'clocked',
    summary: 'How many transfers were clocked on an I2C bus',
    required: ['endpoint'],
    params: { endpoint },
    reads: true,
  },
];
