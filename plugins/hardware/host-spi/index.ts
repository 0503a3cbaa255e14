import { nativeCalls } from '../shared/host/native.ts';
import { hostSpi } from './plugin.ts';

export const plugin = hostSpi(nativeCalls);
