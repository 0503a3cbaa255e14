import { serviceRef } from '../contract/service-ref.ts';

/** A tag in the field of a reader. */
export interface NfcTag {
  /** Lower-case hex of 4, 7 or 10 bytes. */
  readonly uid: string;
  /** `nfc-forum-type-2`, or `iso14443a` for one that cannot be read here. */
  readonly technology: 'nfc-forum-type-2' | 'iso14443a';
  readonly atqa: number;
  readonly sak: number;
}

export interface NfcOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds, of `clock.steady()`. */
  readonly deadline?: number;
}

/** Interface of a driver. Calls come one after the other. Rejects with TAG_FAILED, or with the codes of its bus. */
export interface NfcSource {
  /** The tag that is there; undefined where there is none. */
  poll(options: NfcOptions): Promise<NfcTag | undefined>;
  /** The bytes of the NDEF message on the tag that was polled last; empty for an empty one. */
  read(tag: NfcTag, options: NfcOptions): Promise<Uint8Array>;
  /** Replaces the NDEF message: an interrupted write leaves an empty tag, never half a message. */
  write(tag: NfcTag, message: Uint8Array, options: NfcOptions): Promise<void>;
}

export interface NfcReaderInfo {
  readonly name: string;
  readonly chip: string;
  readonly owner: string;
  readonly tag?: NfcTag;
  /** Why it could not be polled last. */
  readonly problem?: string;
}

/** NDEF, in the forms that apps use; anything else as it is. */
export type NdefRecord =
  | { readonly type: 'text'; readonly text: string; readonly language: string }
  | { readonly type: 'uri'; readonly uri: string }
  | { readonly type: 'mime'; readonly mime: string; readonly data: Uint8Array }
  | { readonly type: 'external'; readonly name: string; readonly data: Uint8Array }
  | { readonly type: 'other'; readonly tnf: number; readonly name: string; readonly data: Uint8Array };

/** Readers of NFC tags. `reader` may be left out where there is one. */
export interface Nfc {
  /** Throws PARAMS_INVALID (name, or a second reader of that name). */
  register(reader: { readonly name: string; readonly chip: string }, source: NfcSource, owner: string): AsyncDisposable;
  readers(): Promise<readonly NfcReaderInfo[]>;
  /** The tag that is there now. Rejects with READER_NOT_FOUND, TAG_FAILED. */
  poll(reader?: string, options?: NfcOptions): Promise<NfcTag | undefined>;
  /** Rejects with TAG_NOT_FOUND, TAG_FAILED, READER_NOT_FOUND. */
  read(
    reader?: string,
    options?: NfcOptions,
  ): Promise<{ readonly tag: NfcTag; readonly records: readonly NdefRecord[] }>;
  write(records: readonly NdefRecord[], reader?: string, options?: NfcOptions): Promise<NfcTag>;
}

export const nfc = serviceRef<Nfc>('nfc', '1.0.0', 'powerful', 'reads and writes NFC tags');
