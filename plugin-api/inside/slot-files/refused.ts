/** Codes of the table of errors that a writer of slots can have; the plugin makes errors of them. */
export const SLOT_CODES = [
  ...['SYSTEM_IMAGE_INVALID', 'SIGNATURE_INVALID', 'SLOTS_UNAVAILABLE', 'BUSY', 'CANCELLED'],
  ...['STORAGE_FULL', 'STORAGE_READ_ONLY', 'STORAGE_FAILED'],
] as const;
export type SlotCode =
  | ('SYSTEM_IMAGE_INVALID' | 'SIGNATURE_INVALID' | 'SLOTS_UNAVAILABLE' | 'BUSY' | 'CANCELLED')
  | ('STORAGE_FULL' | 'STORAGE_READ_ONLY' | 'STORAGE_FAILED');

/** Refusal of an act on a slot, with its reason. */
export class SlotRefused extends Error {
  readonly code: SlotCode;

  constructor(code: SlotCode, reason: string) {
    super(reason);
    this.name = 'SlotRefused';
    this.code = code;
  }
}
