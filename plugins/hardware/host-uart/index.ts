import { nativeCalls } from '../shared/host/native.ts';
import { hostUart } from './plugin.ts';

export const plugin = hostUart(nativeCalls);
