/**
 * A CAN interface of the host, by two raw sockets: one sends and receives, the other sees when a frame of the first
 * has been acknowledged on the bus, as the kernel then shows it to the other programs of the machine.
 */
import type { CoreError } from '@device-core/plugin-api';
import type { KernelCalls } from '../shared/host/calls.ts';
import type { DeviceEars, HostDevice } from '../shared/host/host-bus.ts';
import { refusal } from '../shared/host/status.ts';
import { ERRORS, eventOf, filtersOf, frameOf, OPTION, RECORD_BYTES, STATE, stateOf } from './frames.ts';

export interface CanInterface {
  /** Name of the endpoint. */
  readonly name: string;
  /** Interface of the kernel, `can0`. */
  readonly path: string;
  /** Bits per second that the system gives the interface. */
  readonly nominal: number;
  /** Bits per second of the data phase; 0 for classic CAN. */
  readonly data: number;
}

const OP = { configure: 0x01, send: 0x02, filter: 0x03 } as const;
const EVENT = { received: 0x80, state: 0x81 } as const;
const SLOTS = 16;
const EMPTY = new Uint8Array(0);
const ON = Buffer.from([1, 0, 0, 0]);
const NOTHING = [{ id: 0x1fff_ffff, mask: 0x9fff_ffff }];

/** Opens it. Throws KernelError. */
export function openInterface(one: CanInterface, calls: KernelCalls, ears: DeviceEars): HostDevice {
  const fd = calls.canSocket(one.path);
  let witness: number | undefined;
  try {
    witness = calls.canSocket(one.path);
    return new Controller(one, calls, ears, { fd, witness });
  } catch (error) {
    calls.close(fd);
    if (witness !== undefined) calls.close(witness);
    throw error;
  }
}

class Controller implements HostDevice {
  readonly boot: string;
  readonly #interface: CanInterface;
  readonly #calls: KernelCalls;
  readonly #ears: DeviceEars;
  readonly #opened: { readonly fd: number; readonly witness: number };
  readonly #listening: readonly Disposable[];
  readonly #filters = new Map<number, { readonly id: number; readonly mask: number }>();
  /** The frame that is on its way, and its end. */
  #sending: (PromiseWithResolvers<Uint8Array> & { readonly frame: Buffer }) | undefined;

  constructor(one: CanInterface, calls: KernelCalls, ears: DeviceEars, opened: { fd: number; witness: number }) {
    this.boot = `${one.path} ${calls.nowUs()}`;
    this.#interface = one;
    this.#calls = calls;
    this.#ears = ears;
    this.#opened = opened;
    const { fd, witness } = opened;
    calls.setOption(fd, OPTION.level, OPTION.errors, word(ERRORS));
    for (const socket of [fd, witness]) {
      calls.setOption(socket, OPTION.level, OPTION.filter, filtersOf(NOTHING));
      if (one.data > 0) calls.setOption(socket, OPTION.level, OPTION.fd, ON);
    }
    const over = (error: Error) => ears.gone(`${one.path}: ${error.message}`);
    this.#listening = [
      calls.watch(fd, RECORD_BYTES, (record, lost) => this.#received(Buffer.from(record), lost), over),
      calls.watch(witness, RECORD_BYTES, (record) => this.#seen(Buffer.from(record)), over),
    ];
  }

  request(op: number, body: Buffer): Uint8Array | Promise<Uint8Array> {
    if (op === OP.configure) return this.#configure(body);
    if (op === OP.filter) return this.#filter(body);
    if (op !== OP.send) throw this.#refused('UNSUPPORTED');
    const frame = frameOf(body);
    if (!frame) throw this.#refused('INVALID');
    return this.#send(frame);
  }

  close(): void {
    for (const one of this.#listening) one[Symbol.dispose]();
    this.#sending?.resolve(EMPTY);
    this.#calls.close(this.#opened.fd);
    this.#calls.close(this.#opened.witness);
  }

  /** The system sets bit rates, as that takes the rights of root: a handle may ask for what is so. */
  #configure(body: Buffer): Uint8Array {
    if (body.length !== 9) throw this.#refused('INVALID');
    const { path, nominal, data } = this.#interface;
    const [wanted, wantedData] = [body.readUInt32LE(), body.readUInt32LE(4)];
    if (body[8] !== 0) throw this.#refused('UNSUPPORTED', 'the system sets the mode of the interface');
    if (wanted === nominal && wantedData === data) return EMPTY;
    const more = wantedData > 0 ? ` dbitrate ${wantedData} fd on` : '';
    throw this.#refused('BAD_SPEED', `the system sets it: ip link set ${path} type can bitrate ${wanted}${more}`);
  }

  #filter(body: Buffer): Uint8Array {
    const slot = body[0] ?? SLOTS;
    if (body.length !== 12 || slot >= SLOTS) throw this.#refused('INVALID');
    this.#filters.set(slot, { id: body.readUInt32LE(4), mask: body.readUInt32LE(8) });
    this.#calls.setOption(this.#opened.fd, OPTION.level, OPTION.filter, filtersOf([...this.#filters.values()]));
    return EMPTY;
  }

  #send(frame: Buffer): Promise<Uint8Array> {
    const { fd, witness } = this.#opened;
    const filter = filtersOf([{ id: frame.readUInt32LE(), mask: 0xdfff_ffff }]);
    this.#calls.setOption(witness, OPTION.level, OPTION.filter, filter);
    const sending = { ...Promise.withResolvers<Uint8Array>(), frame };
    this.#sending = sending;
    try {
      this.#calls.write(fd, frame);
    } catch (error) {
      this.#sending = undefined;
      throw error;
    }
    return sending.promise;
  }

  /** A frame that no node acknowledges stays with the controller, and the interface with it. */
  #seen(record: Buffer): void {
    const sending = this.#sending;
    if (!sending?.frame.equals(record)) return;
    this.#sending = undefined;
    this.#calls.setOption(this.#opened.witness, OPTION.level, OPTION.filter, filtersOf(NOTHING));
    sending.resolve(word(this.#calls.nowUs() % 2 ** 32));
  }

  #received(record: Buffer, lost: number): void {
    const state = stateOf(record);
    if (state) this.#ears.tell({ op: EVENT.state, data: state, lost });
    if (state?.[0] === STATE.busOff) {
      // The kernel has thrown away the frame that waited.
      this.#sending?.reject(this.#refused('BUS_OFF'));
      this.#sending = undefined;
    }
    const event = eventOf(record);
    if (event) this.#ears.tell({ op: EVENT.received, data: new Uint8Array(event), lost });
  }

  #refused(status: string, reason?: string): CoreError {
    return refusal(this.#interface.name, status, reason);
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
