/** A board as its YAML file describes it: read, checked, defaults filled in. */
import { createRequire } from 'node:module';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import type { Ajv } from 'ajv';
import { BOARD_SCHEMA, FAULTS_SCHEMA } from './board-schema.ts';
import { CHIPS } from './chips/index.ts';

/** Loaded for a board that is new, and for faults: a start with the board of the last one needs neither. */
const later = createRequire(import.meta.url);
const ajv = () => later('ajv') as typeof import('ajv');
/** Keeps what it compiled of each schema. */
let checker: Ajv | undefined;

export interface LinkSettings {
  readonly transactionBytes: number;
  readonly window: number;
  readonly gapUs: number;
  readonly khz: number;
  readonly watchdogMs: number;
  readonly firmware: readonly [number, number, number];
  readonly major: number;
}

/** Shares of transactions, 0 to 1. */
export interface WireFaults {
  readonly seed: number;
  readonly bitErrorRate: number;
  readonly zeroed: number;
  readonly stale: number;
  readonly slipped: number;
  readonly truncated: number;
}

interface EndpointSettings {
  readonly label: string;
  readonly rxWindow: number;
  readonly maxInflight: number;
  readonly slowMs: number;
}

export interface GpioSettings extends EndpointSettings {
  readonly class: 'gpio';
  readonly lines: number;
  readonly wires: readonly (readonly [number, number])[];
  readonly script: readonly { readonly atMs: number; readonly line: number; readonly level: 0 | 1 | null }[];
}

export interface FlashSettings {
  readonly cs: number;
  readonly kind: 'flash';
  readonly jedec: readonly [number, number, number];
  readonly sizeKiB: number;
  readonly programMs: number;
  readonly sectorMs: number;
  readonly blockMs: number;
  readonly chipMs: number;
  readonly file?: string;
  readonly contents: readonly { readonly at: number; readonly text: string }[];
}

export interface WireSettings {
  readonly cs: number;
  readonly kind: 'loopback' | 'echo';
}

export interface SpixSettings extends EndpointSettings {
  readonly class: 'spix';
  readonly maxSpeedHz: number;
  readonly maxTransfer: number;
  readonly atomicBytes: number;
  readonly chipSelects: number;
  readonly targets: readonly (FlashSettings | WireSettings)[];
}

export interface ChipSettings {
  readonly kind: string;
  readonly address: number;
  /** Endpoint and line of its interrupt output. */
  readonly interrupt?: { readonly endpoint: string; readonly line: number };
  readonly [option: string]: unknown;
}

export interface I2cSettings extends EndpointSettings {
  readonly class: 'i2c';
  readonly maxSpeedHz: number;
  readonly maxTransfer: number;
  readonly targets: readonly ChipSettings[];
  /** Changes of chips by time. */
  readonly script: readonly {
    readonly atMs: number;
    readonly everyMs: number;
    readonly address: number;
    readonly change: object;
  }[];
}

export interface UartSettings extends EndpointSettings {
  readonly class: 'uart';
  readonly maxBaud: number;
  readonly maxTransfer: number;
  readonly baud: number;
  readonly loopback: boolean;
  readonly eventQueue: number;
  /** Texts from the other end, by time. */
  readonly script: readonly { readonly atMs: number; readonly everyMs: number; readonly text: string }[];
}

export interface CanSettings extends EndpointSettings {
  readonly class: 'can';
  readonly maxNominal: number;
  readonly maxData: number;
  readonly eventQueue: number;
  /** Another node answers each frame of `id` with `answer`. */
  readonly answers: readonly { readonly id: number; readonly answer: number; readonly data: readonly number[] }[];
  readonly script: readonly {
    readonly atMs: number;
    readonly everyMs: number;
    readonly id: number;
    readonly data: readonly number[];
  }[];
}

export interface PioSettings extends EndpointSettings {
  readonly class: 'pio';
  /** Label of the GPIO endpoint whose lines it drives. */
  readonly gpio: string;
}

export type AnySettings = GpioSettings | SpixSettings | I2cSettings | UartSettings | CanSettings | PioSettings;

export interface Board {
  readonly board: string;
  readonly link: LinkSettings;
  readonly faults: WireFaults;
  readonly endpoints: readonly AnySettings[];
}

/** The board cannot be used; the message says where and why. */
export class BoardError extends Error {}

/** Reads a board from YAML. Throws BoardError. */
export function parseBoard(text: string, name: string): Board {
  const { value, errors } = parseYaml(text);
  if (errors[0]) throw new BoardError(`cannot read board ${name}: line ${errors[0].line}: ${errors[0].message}`);
  return checkBoard(value, name);
}

/** Checks a board and fills in what it leaves out. Throws BoardError. */
export function checkBoard(board: unknown, name: string): Board {
  const checked = structuredClone(board) as Board;
  check(BOARD_SCHEMA, checked, `board ${name}`);
  const labels = checked.endpoints.map(({ label }) => label);
  if (new Set(labels).size !== labels.length || labels.includes('sys')) {
    throw new BoardError(`cannot use board ${name}: each endpoint needs a unique label, other than "sys"`);
  }
  const gpios = new Map(
    checked.endpoints.flatMap((one) => (one.class === 'gpio' ? [[one.label, one.lines] as const] : [])),
  );
  for (const endpoint of checked.endpoints) {
    checkPlaces(endpoint, gpios, name);
    if (endpoint.class !== 'spix') continue;
    const stray = endpoint.targets.find(({ cs }) => cs >= endpoint.chipSelects);
    if (stray) throw new BoardError(`cannot use board ${name}: ${endpoint.label} has no chip select ${stray.cs}`);
  }
  return checked;
}

/** Checks that an endpoint's references to another one exist. */
function checkPlaces(endpoint: AnySettings, gpios: ReadonlyMap<string, number>, name: string): void {
  const fail = (reason: string) => {
    throw new BoardError(`cannot use board ${name}: ${reason}`);
  };
  if (endpoint.class === 'pio' && !gpios.has(endpoint.gpio))
    fail(`${endpoint.label} drives ${endpoint.gpio}, which is no GPIO endpoint`);
  if (endpoint.class !== 'i2c') return;
  const addresses = endpoint.targets.map(({ address }) => address);
  if (new Set(addresses).size !== addresses.length) fail(`two chips of ${endpoint.label} have one address`);
  for (const { kind, interrupt } of endpoint.targets) {
    if (!Object.hasOwn(CHIPS, kind)) fail(`there is no chip ${kind}; there are ${Object.keys(CHIPS).join(', ')}`);
    if (interrupt && interrupt.line >= (gpios.get(interrupt.endpoint) ?? 0))
      fail(`${interrupt.endpoint} has no line ${interrupt.line}`);
  }
  for (const { address } of endpoint.script)
    if (!addresses.includes(address)) fail(`${endpoint.label} has no chip at ${address}`);
}

/** Checks faults and fills in what they leave out. Throws BoardError. */
export function checkFaults(faults: object): WireFaults {
  const checked = structuredClone(faults) as WireFaults;
  check(FAULTS_SCHEMA, checked, 'faults');
  return checked;
}

function check(schema: object, value: unknown, what: string): void {
  checker ??= new (ajv().Ajv)({ useDefaults: true, discriminator: true, allErrors: false, strict: false });
  if (checker.validate(schema, value)) return;
  throw new BoardError(`cannot use ${what}: ${checker.errorsText(checker.errors, { dataVar: 'board' })}`);
}
