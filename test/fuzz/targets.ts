/** All parsers that take bytes of strangers. A new one has a row here, and seeds that it accepts. */
import type { Target } from './target.ts';
import { ARCHIVES } from './targets/archives.ts';
import { MEDIA } from './targets/media.ts';
import { VALUES } from './targets/values.ts';
import { WIRE } from './targets/wire.ts';

export const TARGETS: readonly Target[] = [...WIRE, ...VALUES, ...ARCHIVES, ...MEDIA];
