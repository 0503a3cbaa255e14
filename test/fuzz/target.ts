/** A parser that takes bytes of strangers, as the fuzz lane knows it. */
import { CoreError } from '@device-core/plugin-api';

/** Bytes below a seal (compression, checksums): mutated in the open, and sealed again. */
export interface Seal {
  open(bytes: Buffer): Buffer;
  close(inner: Buffer): Buffer;
}

export interface Target {
  readonly name: string;
  /** `value`: JSON or YAML, mutated as a tree, too. */
  readonly form: 'value' | 'bytes';
  readonly seal?: Seal;
  /** A case of it costs as much as so many of others: it gets fewer. 1, if absent. */
  readonly cost?: number;
  /** Words of the format: a mutation puts them in. */
  readonly words?: readonly string[];
  /** Starts that cost more than a case come here, and are paid once. */
  open(): Promise<Opened>;
}

export interface Opened extends Partial<AsyncDisposable> {
  /** Valid bytes, each of which `run` accepts. */
  readonly seeds: readonly Uint8Array[];
  /**
   * Takes the bytes as the product does. False or a refusal of the error table means refused. Throws WrongAcceptance
   * where bytes were taken that should not be, and anything else only by a fault.
   */
  run(bytes: Buffer): boolean | Promise<boolean>;
  /** Errors that are refusals beside CoreError, where callers of the parser make one of them. */
  refuses?(error: unknown): boolean;
}

/** The parser took bytes that it should refuse, or took them for something else. */
export class WrongAcceptance extends Error {}

export const isRefusal = (opened: Opened, error: unknown): boolean =>
  !(error instanceof WrongAcceptance) &&
  ((error instanceof CoreError && error.code !== 'INTERNAL') || opened.refuses?.(error) === true);
