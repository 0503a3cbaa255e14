import { nativeCalls } from '../shared/host/native.ts';
import { hostI2c } from './plugin.ts';

export const plugin = hostI2c(nativeCalls);
