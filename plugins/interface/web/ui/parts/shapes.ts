/** Answers of the Core about plugins, as far as these pages show them. */
export type PluginState = 'active' | 'waiting' | 'starting' | 'stopping' | 'stopped' | 'failed' | 'quarantined';

export interface Plugin {
  readonly id: string;
  readonly version: string;
  readonly summary: string;
  readonly state: PluginState;
  readonly isolation: 'inline' | 'worker' | 'process';
  readonly essential: boolean;
  readonly reason?: string;
  readonly code?: string;
  readonly since: number;
  readonly startMs?: number;
  readonly generation: number;
  readonly restarts?: number;
  readonly nextStartAt?: number;
  readonly lastError?: { readonly code: string; readonly message: string; readonly at: number };
  readonly directory?: string;
  readonly provides?: Readonly<Record<string, string>>;
  readonly requires?: Readonly<Record<string, string>>;
  readonly holds?: readonly string[];
}

export interface Component {
  readonly status: 'okay' | 'waiting' | 'blocked' | 'error';
  readonly code?: string;
  readonly message?: string;
  readonly version?: string;
  readonly since?: number;
  readonly warning?: { readonly code: string; readonly message: string; readonly at?: number };
}

export interface Health {
  readonly ok: boolean;
  readonly status: 'ok' | 'degraded' | 'failed';
  readonly components: Readonly<Record<string, Component>>;
  readonly bridge: { readonly link: string };
  readonly uptimeMs: number;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

export interface Usage {
  readonly plugin: string;
  readonly state: PluginState;
  readonly isolation: Plugin['isolation'];
  readonly busyMs: number;
  readonly busyPercent: number;
  readonly errors: number;
  readonly stalls: number;
  readonly longestMs: number;
  readonly cpuMs?: number;
  readonly heapBytes?: number;
  readonly budget: { readonly stallMs: number; readonly busyPercent: number };
}
