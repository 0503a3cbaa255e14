import type { Capabilities, EventEnvelope } from '@device-core/plugin-api';
import type { PluginEntry } from '../resolved.ts';

/** What one app tells another is none of the business of a plugin from outside, unless its manifest claims events.read. */
export function hiddenFrom({ id, tree }: PluginEntry, capabilities: Capabilities): (event: EventEnvelope) => boolean {
  if (tree) return () => false;
  const caller = { kind: 'plugin', id } as const;
  return ({ source, topic }) =>
    source.startsWith('app.') &&
    topic.startsWith('app.') &&
    !capabilities.holds(caller, `events.read:${source.slice('app.'.length)}`);
}

/** A plugin in a process of its own, or one that starts programs. */
export function hasGuests(plugins: readonly PluginEntry[]): boolean {
  return plugins.some(
    ({ isolation, manifest: { requires, optional } }) =>
      isolation === 'process' || 'launcher' in { ...requires, ...optional },
  );
}
