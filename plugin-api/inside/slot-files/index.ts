/** Slots as folders: what writes them, as root or in a process of the Core. It imports Node alone, beside what the boot loader reads. */
export { activated, emptied, foundBad, foundGood, otherSlot, staged } from './changes.ts';
export { type Judged, type Judging, judge } from './judge.ts';
export { SLOT_CODES, type SlotCode, SlotRefused } from './refused.ts';
export { type MachineActs, type SlotAnswer, slotRequests } from './requests.ts';
export { type Heeding, type SlotPlaces, SlotWriter } from './slot-writer.ts';
export { isOlder } from './version-order.ts';
