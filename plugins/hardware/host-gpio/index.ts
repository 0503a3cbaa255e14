import { nativeCalls } from '../shared/host/native.ts';
import { hostGpio } from './plugin.ts';

export const plugin = hostGpio(nativeCalls);
