/** The blocks of a board: what stands behind each endpoint of the bridge, by the class of its settings. */
import type {
  AnySettings,
  CanSettings,
  FlashSettings,
  GpioSettings,
  I2cSettings,
  PioSettings,
  SpixSettings,
  UartSettings,
  WireSettings,
} from './board.ts';
import { CanExecutor, type CanFrame } from './can-executor.ts';
import type { ScriptedChip } from './chips/chip.ts';
import { CHIPS } from './chips/index.ts';
import type { SimClock } from './clock.ts';
import type { EndpointDescription } from './endpoint.ts';
import type { Executor } from './executor.ts';
import { Flash } from './flash.ts';
import { GpioExecutor } from './gpio-executor.ts';
import { I2cExecutor } from './i2c-executor.ts';
import type { I2cTarget } from './i2c-target.ts';
import { PioExecutor } from './pio-executor.ts';
import { Echo, Loopback, type SpiTarget } from './spi-target.ts';
import { SpixExecutor } from './spix-executor.ts';
import { UartExecutor } from './uart-executor.ts';
import { wordAt, words } from './wire-format.ts';

const FLAG = { events: 1, streaming: 2, safeState: 8 } as const;

type Shape = Omit<EndpointDescription, 'number' | 'label' | 'rxWindow' | 'maxInflight'>;
type Tell = (op: number, data: Uint8Array) => void;

/** Parts of the bridge that blocks use. */
export interface BlockSurroundings {
  readonly clock: SimClock;
  readonly stateFolder: string | undefined;
  /** After so long, and again each `every` milliseconds where that is more than 0, as long as the bridge lives. */
  later(ms: number, fn: () => void, every?: number): void;
}

export class Blocks {
  readonly gpios = new Map<string, GpioExecutor>();
  readonly i2cs = new Map<string, I2cExecutor>();
  readonly uarts = new Map<string, UartExecutor>();
  readonly cans = new Map<string, CanExecutor>();
  readonly #surroundings: BlockSurroundings;

  constructor(surroundings: BlockSurroundings) {
    this.#surroundings = surroundings;
  }

  /** GPIO endpoints come first: others name their lines. */
  build(settings: AnySettings, tell: Tell): { readonly shape: Shape; readonly executor: Executor } {
    switch (settings.class) {
      case 'gpio':
        return { shape: SHAPES.gpio, executor: this.#gpio(settings, tell) };
      case 'spix':
        return { shape: { ...SHAPES.spix, maxTransfer: settings.maxTransfer }, executor: this.#spix(settings) };
      case 'i2c':
        return { shape: { ...SHAPES.i2c, maxTransfer: settings.maxTransfer }, executor: this.#i2c(settings) };
      case 'uart': {
        const { maxTransfer, eventQueue } = settings;
        return { shape: { ...SHAPES.uart, maxTransfer, eventQueue }, executor: this.#uart(settings, tell) };
      }
      case 'can':
        return { shape: { ...SHAPES.can, eventQueue: settings.eventQueue }, executor: this.#can(settings, tell) };
      case 'pio':
        return { shape: SHAPES.pio, executor: this.#pio(settings, tell) };
    }
  }

  /** A chip on one of the buses. */
  chip(endpoint: string, address: number): I2cTarget | ScriptedChip | undefined {
    return this.i2cs.get(endpoint)?.target(address);
  }

  #gpio({ label, lines, wires, script }: GpioSettings, tell: Tell): GpioExecutor {
    const executor = new GpioExecutor(lines, wires, this.#surroundings.clock, tell);
    this.gpios.set(label, executor);
    for (const { atMs, line, level } of script)
      this.#surroundings.later(atMs, () => executor.drive(line, level ?? undefined));
    return executor;
  }

  #spix(settings: SpixSettings): SpixExecutor {
    const targets = new Map(settings.targets.map((target) => [target.cs, this.#spiTarget(target)]));
    return new SpixExecutor({ ...settings, targets }, this.#surroundings.clock);
  }

  #spiTarget(settings: FlashSettings | WireSettings): SpiTarget {
    if (settings.kind !== 'flash') return settings.kind === 'loopback' ? new Loopback() : new Echo();
    const { jedec, sizeKiB, file, contents, ...times } = settings;
    const folder = this.#surroundings.stateFolder;
    return new Flash(
      {
        jedec,
        size: sizeKiB * 1024,
        times,
        ...(file !== undefined && folder !== undefined ? { file: `${folder}/${file}` } : {}),
        contents: contents.map(({ at, text }) => ({ at, bytes: Buffer.from(text, 'utf8') })),
      },
      this.#surroundings.clock,
    );
  }

  #i2c({ label, maxSpeedHz, maxTransfer, targets, script }: I2cSettings): I2cExecutor {
    const { clock } = this.#surroundings;
    const chips = targets.map(({ kind, address, interrupt, ...options }) =>
      CHIPS[kind]!({
        clock,
        address,
        options,
        interrupt: (level) => interrupt && this.gpios.get(interrupt.endpoint)?.drive(interrupt.line, level),
      }),
    );
    const executor = new I2cExecutor({ maxSpeedHz, maxTransfer, targets: chips }, clock);
    this.i2cs.set(label, executor);
    for (const { atMs, everyMs, address, change } of script)
      this.#surroundings.later(atMs, () => changeChip(executor.target(address), change), everyMs);
    return executor;
  }

  #uart(settings: UartSettings, tell: Tell): UartExecutor {
    const executor = new UartExecutor(settings, this.#surroundings.clock, tell);
    this.uarts.set(settings.label, executor);
    for (const { atMs, everyMs, text } of settings.script)
      this.#surroundings.later(atMs, () => executor.receive(Buffer.from(text, 'latin1')), everyMs);
    return executor;
  }

  #can({ label, maxNominal, maxData, answers, script }: CanSettings, tell: Tell): CanExecutor {
    const executor = new CanExecutor({ maxNominal, maxData }, this.#surroundings.clock, tell);
    this.cans.set(label, executor);
    executor.onSent = (frame) => {
      const reply = answers.find(({ id }) => id === wordAt(frame, 0));
      if (reply) this.#surroundings.later(1, () => executor.receive(canFrame(reply.answer, reply.data)));
    };
    for (const { atMs, everyMs, id, data } of script)
      this.#surroundings.later(atMs, () => executor.receive(canFrame(id, data)), everyMs);
    return executor;
  }

  #pio({ gpio }: PioSettings, tell: Tell): PioExecutor {
    return new PioExecutor(this.gpios.get(gpio)!.lines, this.#surroundings.clock, tell);
  }
}

export function canFrame(id: number, data: readonly number[] | Uint8Array): CanFrame {
  return Uint8Array.from([...words(id), data.length, 0, 0, 0, ...data]);
}

/** Throws an Error where the chip cannot be changed, or not so. */
export function changeChip(chip: I2cTarget | ScriptedChip | undefined, change: object): void {
  if (!chip || !('change' in chip)) throw new Error('there is no chip that can be changed');
  chip.change(change as Record<string, unknown>);
}

const SHAPES = {
  gpio: {
    class: 0x01,
    priority: 1,
    flags: FLAG.events | FLAG.safeState,
    eventQueue: 128,
    maxTransfer: 24,
    defaultDeadlineMs: 1_000,
  },
  i2c: { class: 0x02, priority: 2, flags: 0, eventQueue: 0, maxTransfer: 0, defaultDeadlineMs: 5_000 },
  spix: { class: 0x03, priority: 3, flags: FLAG.streaming, eventQueue: 0, maxTransfer: 0, defaultDeadlineMs: 10_000 },
  uart: { class: 0x04, priority: 2, flags: FLAG.events, eventQueue: 0, maxTransfer: 0, defaultDeadlineMs: 10_000 },
  pio: { class: 0x05, priority: 3, flags: FLAG.events, eventQueue: 128, maxTransfer: 4_096, defaultDeadlineMs: 5_000 },
  can: { class: 0x06, priority: 1, flags: FLAG.events, eventQueue: 0, maxTransfer: 72, defaultDeadlineMs: 1_000 },
} as const satisfies Record<string, Shape>;
