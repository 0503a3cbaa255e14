/** Which changes of a plugin's entry it can take while it runs. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { isLive } from '@device-core/plugin-api/manifest-check';
import type { PluginEntry } from './resolved.ts';

/** Nothing differs but members of the configuration whose schema says `live: true`; false where nothing differs at all. */
export function isLiveChange(former: PluginEntry, next: PluginEntry): boolean {
  const { config: was, ...rest } = former;
  const { config: is, ...others } = next;
  if (!isDeepStrictEqual(rest, others)) return false;
  const members = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changed = members.filter((name) => !isDeepStrictEqual(Object(was)[name], Object(is)[name]));
  return changed.length > 0 && changed.every((name) => isLive(next.manifest.config, name));
}
