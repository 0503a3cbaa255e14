import { nativeCalls } from '../shared/host/native.ts';
import { hostCan } from './plugin.ts';

export const plugin = hostCan(nativeCalls);
