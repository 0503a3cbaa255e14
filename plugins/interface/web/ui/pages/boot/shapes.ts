/** Answer of the Core about its start. Without a boot loader there are `loader`, `why`, `safe` and what can be done. */
import type { Answers } from '../../core/answers.ts';
export type Slot = NonNullable<NonNullable<Status['slots']>[SlotName]>;

export type SlotName = 'a' | 'b';

export type Status = Answers['boot.status'];

export type Reset = Answers['system.reset'];
