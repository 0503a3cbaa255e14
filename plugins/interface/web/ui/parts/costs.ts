/** CPU and memory of plugins, apps, and the Core itself. */
import { useEffect } from 'preact/hooks';
import { link } from '../core/route.ts';
import { useAsk, useVisible } from './ask.ts';

export interface PluginUsage {
  readonly plugin: string;
  readonly isolation: 'inline' | 'worker' | 'process';
  readonly minutePercent?: number;
  readonly errors: number;
  readonly stalls: number;
  readonly longestMs: number;
  readonly heapBytes?: number;
}

export interface Load {
  readonly uptimeMs: number;
  readonly core: {
    readonly minutePercent: number;
    readonly residentBytes: number;
    readonly heapBytes: number;
    readonly processors: number;
    readonly memory: { readonly totalBytes: number; readonly availableBytes: number };
  };
  readonly plugins: readonly PluginUsage[];
}

interface AppUsage {
  readonly id: string;
  readonly name: string;
  readonly usage: readonly { readonly budget: string; readonly used: number }[];
}

export interface User {
  readonly kind: 'plugin' | 'app' | 'core';
  readonly id: string;
  readonly name: string;
  /** Percent of one processor, over the last minute. */
  readonly percent: number;
  readonly bytes?: number;
  readonly href: string;
}

/** Asks again while somebody looks: no event tells how busy a processor is. */
export function useLoad(everyMs: number) {
  const visible = useVisible();
  const load = useAsk<Load>('/plugins/usage');
  const apps = useAsk<{ readonly apps: readonly AppUsage[] }>('/apps/usage');
  useEffect(() => {
    if (!visible) return;
    const timer = setInterval(() => {
      load.reload();
      apps.reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [visible]);
  return { ...load, users: load.data && usersOf(load.data, apps.data?.apps ?? []) };
}

/** The hungriest first. What nobody can be named for is the Core's own. */
export function usersOf({ core, plugins }: Load, apps: readonly AppUsage[]): readonly User[] {
  // A plugin with a process of its own is not in the Core's.
  const inside = plugins.reduce((sum, one) => sum + (one.isolation === 'process' ? 0 : (one.minutePercent ?? 0)), 0);
  const used = ({ usage }: AppUsage, budget: string) => usage.find((one) => one.budget === budget)?.used;
  const users: readonly User[] = [
    {
      kind: 'core',
      id: 'core',
      name: 'Core',
      bytes: core.residentBytes,
      percent: Math.max(0, core.minutePercent - inside),
      href: link('plugins', [], { view: 'cost' }),
    },
    ...plugins.map(
      ({ plugin, minutePercent = 0, heapBytes }): User => ({
        kind: 'plugin',
        id: plugin,
        name: plugin,
        percent: minutePercent,
        href: link('plugins', [plugin]),
        ...(heapBytes !== undefined && { bytes: heapBytes }),
      }),
    ),
    ...apps.map((app): User => {
      const memory = used(app, 'memory');
      return {
        kind: 'app',
        id: app.id,
        name: app.name,
        percent: used(app, 'cpu') ?? 0,
        href: link('apps', [app.id]),
        ...(memory !== undefined && { bytes: memory * 1_000_000 }),
      };
    }),
  ];
  return users.toSorted((a, b) => b.percent - a.percent || (b.bytes ?? 0) - (a.bytes ?? 0));
}
