/** Requests of a test or a demonstration to a running simulator: one JSON object with one member a request. */
import { canFrame, changeChip } from './blocks.ts';
import { checkFaults } from './board.ts';
import { heal, type Steered, sightOf } from './sight.ts';
import type { Wire } from './wire.ts';

export interface ControlTarget extends Steered {
  /** Transactions get no answer any more. */
  mute(muted: boolean): void;
  /** The process ends in the middle of what it does, after so many more transactions. */
  die(transactions: number): void;
  /** Undoes both. */
  revive(): void;
  /** Sends the state to the caller after each change, at most once in so many milliseconds; 0: no more. */
  watch(ms: number): void;
}

type Request = Readonly<Record<string, unknown>>;
type Command = (target: ControlTarget, value: Request) => object | undefined;

const COMMANDS: Readonly<Record<string, Command>> = {
  /** Faults of the wire, as in a board. */
  faults: ({ wire }, value) => {
    wire.faults = checkFaults(value);
    return undefined;
  },
  /** `{ms, byte?}`: MISO shows one byte only. */
  silence: ({ wire }, value) => {
    wire.silence(numberOf(value, 'ms'), value.byte === 0 ? 0x00 : 0xff);
    return undefined;
  },
  /** `{transactions, ms}`: the bridge forgets everything and is back after a while. */
  crash: ({ wire }, value) => {
    wire.crashAfter(numberOf(value, 'transactions'), numberOf(value, 'ms'));
    return undefined;
  },
  /** `{transactions}` */
  die: (target, value) => {
    target.die(numberOf(value, 'transactions'));
    return undefined;
  },
  /** `{muted}` */
  mute: (target, value) => {
    target.mute(value.muted === true);
    return undefined;
  },
  /** `{endpoint, ms}`: its operations start later. */
  slow: ({ wire }, value) => {
    endpointOf(wire, value).slowMs = numberOf(value, 'ms');
    return undefined;
  },
  /** `{version}`: the protocol version that the next HELLO_ACK claims. */
  major: ({ wire }, value) => {
    wire.bridge.responder.major = numberOf(value, 'version');
    return undefined;
  },
  /** `{level, text}`: the bridge has something for the log. */
  log: ({ wire }, value) => {
    wire.bridge.announce(0x81, Buffer.from([numberOf(value, 'level'), ...Buffer.from(String(value.text))]));
    return undefined;
  },
  /** `{endpoint, there}`: the bridge says that an endpoint went or came back. */
  changed: ({ wire }, value) => {
    const endpoint = endpointOf(wire, value);
    endpoint.there = value.there === true;
    wire.bridge.announce(0x80, Uint8Array.of(endpoint.description.number, endpoint.there ? 1 : 0));
    return undefined;
  },
  /** `{endpoint, line, level}`: drives a line from outside; level null lets go. */
  drive: ({ wire }, value) => {
    const gpio = wire.bridge.gpio(String(value.endpoint));
    if (!gpio) throw new Error(`there is no GPIO endpoint ${String(value.endpoint)}`);
    gpio.drive(numberOf(value, 'line'), value.level === null ? undefined : value.level === 1 ? 1 : 0);
    return undefined;
  },
  /** `{endpoint, line, times}`: a line goes up and down so often, faster than any listener hears. */
  pulse: ({ wire }, value) => {
    const gpio = blockOf(wire.bridge.blocks.gpios, value);
    for (let n = 0; n < numberOf(value, 'times'); n++)
      for (const level of [1, 0] as const) gpio.drive(numberOf(value, 'line'), level);
    return undefined;
  },
  /** `{endpoint, recoveries, later?}`: the I2C bus is held down until so many recoveries; 0 lets go. `later`: after the next transfer. */
  stick: ({ wire }, value) => {
    blockOf(wire.bridge.blocks.i2cs, value).stick(
      value.recoveries === null ? Number.POSITIVE_INFINITY : numberOf(value, 'recoveries'),
      value.later === true,
    );
    return undefined;
  },
  /** `{endpoint}`: how many transfers were clocked on an I2C bus. */
  clocked: ({ wire }, value) => ({ clocked: blockOf(wire.bridge.blocks.i2cs, value).clocked }),
  /** `{endpoint, address, there}`: a chip is pulled out or put back. */
  plug: ({ wire }, value) => {
    blockOf(wire.bridge.blocks.i2cs, value).plug(numberOf(value, 'address'), value.there === true);
    return undefined;
  },
  /** `{endpoint, address, change}`: what a chip senses becomes something else. */
  chip: ({ wire }, value) => {
    changeChip(wire.bridge.blocks.chip(String(value.endpoint), numberOf(value, 'address')), Object(value.change));
    return undefined;
  },
  /** `{endpoint, text}`: the other end of a UART says something. */
  say: ({ wire }, value) => {
    blockOf(wire.bridge.blocks.uarts, value).receive(Buffer.from(String(value.text), 'latin1'));
    return undefined;
  },
  /** `{endpoint, bits}`: what a UART receiver found wrong. */
  garble: ({ wire }, value) => {
    blockOf(wire.bridge.blocks.uarts, value).fail(numberOf(value, 'bits'));
    return undefined;
  },
  /** `{endpoint, id, data}`: another node sends a frame. */
  can: ({ wire }, value) => {
    blockOf(wire.bridge.blocks.cans, value).receive(
      canFrame(numberOf(value, 'id'), (value.data as number[] | undefined) ?? []),
    );
    return undefined;
  },
  /** `{endpoint, broken}`: the wires of a CAN bus are shorted, or whole again. */
  short: ({ wire }, value) => {
    blockOf(wire.bridge.blocks.cans, value).break(value.broken === true);
    return undefined;
  },
  /** `{}`: the present value of every control. */
  state: (target) => ({ state: sightOf(target) }),
  /** `{}`: every fault is over. */
  heal: (target) => {
    target.revive();
    heal(target);
    return undefined;
  },
  /** `{ms}` */
  watch: (target, value) => {
    target.watch(numberOf(value, 'ms'));
    return { state: sightOf(target) };
  },
  /** `{endpoint}`: what it has been given and keeps over sessions. */
  settings: ({ wire }, value) => ({ settings: endpointOf(wire, value).settings }),
  /** `{}` */
  counts: ({ wire }) => ({
    wire: wire.counts,
    link: wire.bridge.responder.counts,
    endpoints: Object.fromEntries(
      wire.bridge.endpoints.map(({ description, counts, inFlight }) => [description.label, { ...counts, inFlight }]),
    ),
  }),
};

/** Does what `text` asks and returns the answer as JSON. */
export function control(text: string, target: ControlTarget): string {
  try {
    const request = JSON.parse(text) as Request;
    const [name = '', ...more] = Object.keys(request);
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!command || more.length > 0) throw new Error(`a request has one member of ${Object.keys(COMMANDS).join(', ')}`);
    return JSON.stringify({ ok: true, ...command(target, (request[name] ?? {}) as Request) });
  } catch (error) {
    return JSON.stringify({ ok: false, error: error instanceof Error ? error.message : String(error) });
  }
}

function numberOf(value: Request, member: string): number {
  const number = value[member];
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0)
    throw new Error(`${member} must be a number >= 0`);
  return number;
}

function blockOf<T>(blocks: ReadonlyMap<string, T>, value: Request): T {
  const block = blocks.get(String(value.endpoint));
  if (!block)
    throw new Error(`there is no such endpoint ${String(value.endpoint)}; there are ${[...blocks.keys()].join(', ')}`);
  return block;
}

function endpointOf(wire: Wire, value: Request) {
  const endpoint = wire.bridge.endpoint(String(value.endpoint));
  if (!endpoint) throw new Error(`there is no endpoint ${String(value.endpoint)}`);
  return endpoint;
}
