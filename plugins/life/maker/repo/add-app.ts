import { adding } from './add-package.ts';

/** `devicectl repo add-app` */
export const program = adding('app');
