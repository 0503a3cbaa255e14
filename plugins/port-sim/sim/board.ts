/** A board as its YAML file describes it: read, checked, defaults filled in. */
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { BOARD_SCHEMA, FAULTS_SCHEMA } from './board-schema.ts';

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

export interface Board {
  readonly board: string;
  readonly link: LinkSettings;
  readonly faults: WireFaults;
  readonly endpoints: readonly (GpioSettings | SpixSettings)[];
}

/** The board cannot be used; the message says where and why. */
export class BoardError extends Error {}

/** Reads a board from YAML. Throws BoardError. */
export function parseBoard(text: string, name: string): Board {
  let board: Board;
  try {
    board = parse(text) as Board;
  } catch (error) {
    throw new BoardError(`cannot read board ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return checkBoard(board, name);
}

/** Checks a board and fills in what it leaves out. Throws BoardError. */
export function checkBoard(board: unknown, name: string): Board {
  const checked = structuredClone(board) as Board;
  check(BOARD_SCHEMA, checked, `board ${name}`);
  const labels = checked.endpoints.map(({ label }) => label);
  if (new Set(labels).size !== labels.length || labels.includes('sys')) {
    throw new BoardError(`cannot use board ${name}: each endpoint needs a label of its own, other than "sys"`);
  }
  for (const endpoint of checked.endpoints) {
    if (endpoint.class !== 'spix') continue;
    const stray = endpoint.targets.find(({ cs }) => cs >= endpoint.chipSelects);
    if (stray) throw new BoardError(`cannot use board ${name}: ${endpoint.label} has no chip select ${stray.cs}`);
  }
  return checked;
}

/** Checks faults and fills in what they leave out. Throws BoardError. */
export function checkFaults(faults: object): WireFaults {
  const checked = structuredClone(faults) as WireFaults;
  check(FAULTS_SCHEMA, checked, 'faults');
  return checked;
}

function check(schema: object, value: unknown, what: string): void {
  const ajv = new Ajv({ useDefaults: true, discriminator: true, allErrors: false, strict: false });
  if (ajv.validate(schema, value)) return;
  throw new BoardError(`cannot use ${what}: ${ajv.errorsText(ajv.errors, { dataVar: 'board' })}`);
}
