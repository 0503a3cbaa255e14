import { serviceRef } from '../contract/service-ref.ts';

/** A named state machine of a programmable I/O block behind the IO bridge. */
export interface PioHandle {
  /** `^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$` */
  readonly name: string;
  /** Label of the bridge endpoint. */
  readonly endpoint: string;
  /** State machine, 0 to 3. */
  readonly machine: number;
  readonly description?: string;
}

export interface PioHandleInfo extends PioHandle {
  /** Registrant of the handle: `sku` or `plugin.<id>`. */
  readonly owner: string;
  readonly interrupts: number;
}

/** Registers as the data sheet of the RP2040 has them. */
export interface PioMachineConfig {
  /** Slot that load() returned. */
  readonly slot: number;
  /** Divider of the system clock, 1 to 65535.99; 1 if absent. */
  readonly clockDivider?: number;
  readonly pinctrl?: number;
  readonly execctrl?: number;
  readonly shiftctrl?: number;
}

export interface PioLoaded {
  readonly slot: number;
  readonly origin: number;
}

/** Registers as a text asks for them; for configure(). */
export interface PioRegisters {
  /** Wrap and the kind of side set. */
  readonly execctrl: number;
  /** Number of lines that are set beside an instruction. Pins and their counts are to be added. */
  readonly pinctrl: number;
  /** Public names: labels in instructions from the begin of the program, and defined values. */
  readonly names: Readonly<Record<string, number>>;
}

interface Options {
  readonly signal?: AbortSignal;
  readonly deadline?: number;
}

export type PioWidth = 1 | 2 | 4;

/**
 * PIO for plugins; apps use `pio.load`, `pio.write` and the like. Rejections: HANDLE_NOT_FOUND, PARAMS_INVALID,
 * NOT_INITIALIZED, TRANSFER_FAILED (`details.status` NO_MEMORY: the program does not fit), TIMEOUT, CANCELLED, BUSY.
 */
export interface Pio {
  /** Throws HANDLE_ALREADY_REGISTERED, INVALID_HANDLE. */
  register(handle: PioHandle, owner: string): AsyncDisposable;
  handles(): Promise<readonly PioHandleInfo[]>;
  /** At most 32 instructions of 16 bits; `origin` if the program must lie at one place. */
  load(handle: string, program: readonly number[], origin?: number, options?: Options): Promise<PioLoaded>;
  /**
   * The same from text in the notation of the RP2040's data sheet, section 3.3: one program, 16,384 characters at most.
   * An `.origin` of the text counts where none is given. PARAMS_INVALID names the line.
   */
  loadSource(handle: string, source: string, origin?: number, options?: Options): Promise<PioLoaded & PioRegisters>;
  configure(handle: string, config: PioMachineConfig, options?: Options): Promise<void>;
  enable(handle: string, enabled: boolean, options?: Options): Promise<void>;
  /** Resolves when the last word is in the FIFO. */
  write(handle: string, words: readonly number[], width?: PioWidth, options?: Options): Promise<void>;
  read(handle: string, count: number, width?: PioWidth, options?: Options): Promise<readonly number[]>;
  onInterrupt(handle: string, listener: (flags: number) => void): Disposable;
}

export const pio = serviceRef<Pio>('pio', '1.1.0', 'powerful', 'runs programs of the pins');
