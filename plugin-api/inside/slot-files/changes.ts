/** Changes of the boot record when slots are written and judged. Pure: the root helper, inline mode and the fake of tests share it. */
import { type BootRecord, EMPTY_SLOT, FIRST_PAUSE, type Slot, type SlotName } from '../boot-record.ts';
import { SlotRefused } from './refused.ts';
import { isOlder } from './version-order.ts';

export const otherSlot = (slot: SlotName): SlotName => (slot === 'a' ? 'b' : 'a');

/** Record of a slot that is about to be written: it starts no more, even after a failure. */
export function emptied(record: BootRecord, slot: SlotName, reason?: string): BootRecord {
  const empty = { ...EMPTY_SLOT, ...(reason !== undefined && { reason }) };
  const changed = withSlot(record, slot, empty);
  return record.primary === slot ? onTop({ ...changed, primary: otherSlot(slot) }) : changed;
}

/** All of the image is there, and was read back. */
export const staged = (record: BootRecord, slot: SlotName, image: { version: string; image: string }): BootRecord =>
  withSlot(record, slot, { state: 'trial', tries: 0, ...image });

/** It starts next. Throws SLOTS_UNAVAILABLE for one that is empty or bad. */
export function activated(record: BootRecord, slot: SlotName): BootRecord {
  const { state, reason } = record.slots[slot];
  if (state === 'empty' || state === 'bad')
    throw new SlotRefused('SLOTS_UNAVAILABLE', `slot ${slot} is ${state}${reason === undefined ? '' : `: ${reason}`}`);
  return onTop({ ...record, primary: slot });
}

/** The slot that runs is good: nothing older is taken from now on, and the time is never before it was built. */
export function foundGood(
  record: BootRecord,
  slot: SlotName,
  { version, image, builtAt }: { readonly version: string; readonly image: string; readonly builtAt: number },
): BootRecord {
  const { floor } = record;
  const higher = floor.version === undefined || isOlder(floor.version, version);
  return {
    ...withSlot(record, slot, { state: 'good', tries: 0, version, image }),
    floor: { ...floor, ...(higher && { version }), time: Math.max(floor.time, builtAt) },
  };
}

/** The slot that runs is bad: the other one starts next. Throws SLOTS_UNAVAILABLE where that cannot be. */
export function foundBad(record: BootRecord, slot: SlotName, reason: string): BootRecord {
  const { version, image } = record.slots[slot];
  const bad: Slot = { state: 'bad', tries: 0, ...(version && { version }), ...(image && { image }), reason };
  return withSlot(activated(record, otherSlot(slot)), slot, bad);
}

const withSlot = (record: BootRecord, name: SlotName, slot: Slot): BootRecord => ({
  ...record,
  slots: { ...record.slots, [name]: slot },
});

/** Another slot begins on the first rung: what was counted is of the one before. */
const onTop = ({ cause: _, ...record }: BootRecord): BootRecord => ({
  ...record,
  rung: 'normal',
  failures: 0,
  crashes: [],
  silent: 0,
  pause: FIRST_PAUSE,
  window: false,
});
