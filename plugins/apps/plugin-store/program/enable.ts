import { switching } from './switch.ts';

/** `devicectl plugin enable` */
export const program = switching(true);
