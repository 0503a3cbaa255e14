import { adding } from './add-package.ts';

/** `devicectl repo add-plugin` */
export const program = adding('plugin');
