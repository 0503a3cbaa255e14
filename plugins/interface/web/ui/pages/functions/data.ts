/** Callables of the Core, of apps and of plugins, followed as apps and plugins come and go. */
import { useMemo } from 'preact/hooks';
import { useAsk, useEvents } from '../../parts/ask.ts';
import {
  type Listed,
  listed,
  type OpenApi,
  type OpenRpc,
  type Operation,
  operationsOf,
  type RegisteredFunction,
  type StreamKind,
  streamsOf,
} from './catalog.ts';

export interface Callables {
  readonly operations: readonly Operation[];
  readonly streams: readonly StreamKind[];
  readonly functions: readonly RegisteredFunction[];
  readonly programs: ReadonlySet<string>;
  readonly rows: readonly Listed[];
}

interface Plugins {
  readonly plugins: readonly {
    readonly programs?: readonly { readonly command: string; readonly aliases?: readonly string[] }[];
  }[];
}

export function useCallables() {
  const rest = useAsk<OpenApi>('/openapi.json');
  const rpc = useAsk<OpenRpc>('/openrpc.json');
  const functions = useAsk<{ readonly functions: readonly RegisteredFunction[] }>('/functions');
  const plugins = useAsk<Plugins>('/plugins');
  const reload = () => {
    for (const one of [rest, rpc, functions, plugins]) one.reload();
  };
  useEvents(['plugin.state', 'app.state', 'app.installed', 'app.removed'], reload, 1000);
  const data = useMemo<Callables | undefined>(() => {
    if (rest.data === undefined || rpc.data === undefined) return undefined;
    const operations = operationsOf(rest.data, rpc.data);
    const streams = streamsOf(rpc.data);
    const known = functions.data?.functions ?? [];
    const programs = (plugins.data?.plugins ?? []).flatMap((one) => one.programs ?? []);
    return {
      operations,
      streams,
      functions: known,
      rows: listed(operations, streams, known),
      programs: new Set(programs.flatMap(({ command, aliases = [] }) => [command, ...aliases])),
    };
  }, [rest.data, rpc.data, functions.data, plugins.data]);
  return { data, error: rest.error ?? rpc.error ?? functions.error, reload };
}
