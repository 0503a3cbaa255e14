import { CoreError, maybe } from '@device-core/plugin-api';
import type { Held } from './state-file.ts';

/** Throws CONFIG_CONFLICT with both values, so that the later writer can choose; without them where the key is `hidden`. */
export function expectRevision(
  key: string,
  expected: number | undefined,
  { now, given, hidden }: { readonly now: Held | undefined; readonly given: unknown; readonly hidden: () => boolean },
): void {
  const revision = now?.revision ?? 0;
  if (expected === undefined || expected === revision) return;
  const { setBy, setAt } = now ?? {};
  const both = hidden() ? {} : { value: now?.value ?? null, given };
  throw new CoreError('CONFIG_CONFLICT', { key, revision, expected, ...maybe({ setBy, setAt }), ...both });
}
