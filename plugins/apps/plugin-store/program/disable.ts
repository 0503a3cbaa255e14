import { switching } from './switch.ts';

/** `devicectl plugin disable` */
export const program = switching(false);
