import type { Capabilities, EventEnvelope } from '@device-core/plugin-api';
import type { PluginEntry } from '../resolved.ts';

/** Events between apps are hidden from a plugin from outside the tree that does not hold `events.read` for the source. */
export function hiddenFrom({ id, tree }: PluginEntry, capabilities: Capabilities): (event: EventEnvelope) => boolean {
  if (tree) return () => false;
  const caller = { kind: 'plugin', id } as const;
  return ({ source, topic }) =>
    source.startsWith('app.') &&
    topic.startsWith('app.') &&
    !capabilities.holds(caller, `events.read:${source.slice('app.'.length)}`);
}

/** True with a plugin in a separate process, or one that starts programs. */
export function hasGuests(plugins: readonly PluginEntry[]): boolean {
  return plugins.some(
    ({ isolation, manifest: { requires, optional } }) =>
      isolation === 'process' || 'launcher' in { ...requires, ...optional },
  );
}
