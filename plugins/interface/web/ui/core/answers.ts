// Made from the table of operations by "npm run docs".
export interface Answers {
  readonly 'apps.list': {
    readonly apps: readonly {
      readonly id: string;
      readonly name: string;
      readonly version: string;
      readonly title: string;
      readonly state: "stopped" | "starting" | "running" | "stopping" | "backoff" | "failed" | "quarantined";
      readonly reason?: string;
      readonly complaint?: string;
      readonly since: number;
      readonly pid?: number;
      readonly restarts: number;
      readonly lastEnd?: { readonly reason?: string; readonly at?: number; readonly count?: number };
      readonly capabilities: readonly string[];
      readonly denied: readonly { readonly capability?: string; readonly hint?: string; readonly why?: string }[];
      readonly leftOut: readonly {
        readonly part?: string;
        readonly reason?: string;
        readonly unused?: boolean;
        readonly capability?: string;
        readonly hint?: string;
      }[];
      readonly health?: { readonly status?: string; readonly message?: string; readonly at?: number };
    }[];
  };
  readonly 'apps.top': {
    readonly apps: readonly {
      readonly id: string;
      readonly name: string;
      readonly state: string;
      readonly shown: Readonly<Record<string, string>>;
      readonly usage: readonly {
        readonly budget: "memory" | "cpu" | "tasks" | "storage" | "cache";
        readonly used: number;
        readonly limit: number;
        readonly percent: number;
        readonly peak: number;
        readonly proposed: number;
      }[];
    }[];
  };
  readonly 'audio.state': {
    readonly volume: number;
    readonly muted: boolean;
    readonly capturing: readonly string[];
    readonly playing: readonly { readonly owner: string; readonly priority: "media" | "notification" | "speech" | "alarm" }[];
    readonly problem?: string;
  };
  readonly 'boot.status': {
    readonly loader: boolean;
    readonly why: string;
    readonly safe: boolean;
    readonly slot?: "a" | "b";
    readonly primary?: "a" | "b";
    readonly version?: string;
    readonly sku?: string;
    readonly image?: string;
    readonly rung?: "normal" | "safe" | "other" | "other-safe";
    readonly cause?: string;
    readonly tries?: number;
    readonly slots?: {
      readonly a?: {
        readonly state: "empty" | "trial" | "good" | "bad";
        readonly version?: string;
        readonly image?: string;
        readonly tries: number;
        readonly reason?: string;
      };
      readonly b?: {
        readonly state: "empty" | "trial" | "good" | "bad";
        readonly version?: string;
        readonly image?: string;
        readonly tries: number;
        readonly reason?: string;
      };
    };
    readonly slotsAsOf?: "now" | "start";
    readonly repaired?: readonly string[];
    readonly problems?: readonly string[];
    readonly verify?: "full" | "quick" | "measured";
    readonly ms?: Readonly<Record<string, number>>;
    readonly waited?: number;
    readonly pause?: number;
    readonly acts: readonly ("restart" | "reboot" | "powerOff")[];
    readonly actsReason?: string;
    readonly fellBack?: { readonly slot: "a" | "b"; readonly version?: string; readonly reason: string };
    readonly before?: string;
  };
  readonly 'changes.list': {
    readonly changes: readonly {
      readonly id: string;
      readonly kind: string;
      readonly capability?: string;
      readonly subject: string;
      readonly summary: string;
      readonly by: string;
      readonly state: "waiting" | "doing" | "done" | "undoing" | "undone" | "failed";
      readonly steps: readonly {
        readonly name: string;
        readonly summary: string;
        readonly state: "waiting" | "doing" | "done" | "undoing" | "undone" | "failed";
      }[];
      readonly progress: { readonly done: number; readonly of: number; readonly note?: string };
      readonly error?: { readonly code: string; readonly message: string; readonly details?: Readonly<Record<string, unknown>> };
      readonly result?: Readonly<Record<string, unknown>>;
      readonly startedAt: number;
      readonly endedAt?: number;
    }[];
  };
  readonly 'display.describe': {
    readonly text: readonly string[];
    readonly targets?: readonly { readonly label: string; readonly x: number; readonly y: number; readonly guarded?: boolean }[];
  };
  readonly 'display.state': {
    readonly power: "on" | "dim" | "off";
    readonly brightness: number;
    readonly app?: string;
    readonly renderer?: string;
    readonly panel?: string;
    readonly problem?: string;
  };
  readonly 'display.surfaces': {
    readonly surfaces: readonly {
      readonly id: string;
      readonly layer: "home" | "app" | "voice" | "banner" | "toast" | "prompt" | "system";
      readonly app?: string;
      readonly state: "foreground" | "covered" | "hidden";
      readonly version: number;
      readonly fps?: number;
      readonly frames?: number;
      readonly cpuMs?: number;
      readonly budgetMs?: number;
    }[];
    readonly report: { readonly at: number; readonly ms: number; readonly frames: number; readonly cpuMs: number };
  };
  readonly 'logs.lastStart': {
    readonly lastStart: null | {
      readonly ts?: number;
      readonly sku: string;
      readonly outcome: "unfinished" | "refused" | "crashed" | "killed" | "stopped";
      readonly suspects: readonly string[];
      readonly problems: readonly {
        readonly ts?: number;
        readonly level: "debug" | "info" | "warn" | "error" | "fatal";
        readonly plugin?: string;
        readonly app?: string;
        readonly message: string;
        readonly fields?: Readonly<Record<string, unknown>>;
      }[];
    };
  };
  readonly 'plugins.list': {
    readonly plugins: readonly {
      readonly id: string;
      readonly version: string;
      readonly summary: string;
      readonly state: "waiting" | "starting" | "active" | "stopping" | "stopped" | "failed" | "quarantined";
      readonly isolation: "inline" | "worker" | "process";
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
      readonly programs?: readonly {
        readonly command: string;
        readonly aliases?: readonly string[];
        readonly summary: string;
        readonly main: string;
        readonly needsCore?: boolean;
      }[];
      readonly usage?: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly 'plugins.usage': {
    readonly uptimeMs: number;
    readonly eventLoop: {
      readonly p50Ms: number;
      readonly p99Ms: number;
      readonly maxMs: number;
      readonly ownP99Ms?: number;
      readonly utilization: number;
      readonly stalls: number;
      readonly unattributed: number;
    };
    readonly core: {
      readonly minutePercent: number;
      readonly residentBytes: number;
      readonly heapBytes: number;
      readonly processors: number;
      readonly memory: { readonly totalBytes: number; readonly availableBytes: number };
    };
    readonly plugins: readonly {
      readonly plugin: string;
      readonly state?: string;
      readonly isolation?: "inline" | "worker" | "process";
      readonly callbacks: {
        readonly operation: { readonly calls: number; readonly errors: number; readonly busyMs: number; readonly longestMs: number };
        readonly event: { readonly calls: number; readonly errors: number; readonly busyMs: number; readonly longestMs: number };
        readonly hook: { readonly calls: number; readonly errors: number; readonly busyMs: number; readonly longestMs: number };
        readonly timer: { readonly calls: number; readonly errors: number; readonly busyMs: number; readonly longestMs: number };
        readonly lifecycle: { readonly calls: number; readonly errors: number; readonly busyMs: number; readonly longestMs: number };
      };
      readonly busyMs: number;
      readonly busyPercent: number;
      readonly errors: number;
      readonly stalls: number;
      readonly longestMs: number;
      readonly budget: { readonly stallMs: number; readonly busyPercent: number };
      readonly warning?: { readonly code: "STALL" | "BUSY"; readonly message: string; readonly at?: number };
      readonly minutePercent?: number;
      readonly cpuMs?: number;
      readonly heapBytes?: number;
    }[];
  };
  readonly 'prompts.list': {
    readonly prompts: readonly {
      readonly id: string;
      readonly kind: "consent" | "confirm" | "update";
      readonly subject: string;
      readonly title: string;
      readonly signer?: string;
      readonly version?: string;
      readonly act?: string;
      readonly operation?: string;
      readonly names?: Readonly<Record<string, string>>;
      readonly about?: {
        readonly id: string;
        readonly title?: string;
        readonly version?: string;
        readonly signer?: string | null;
        readonly answers?: string;
      };
      readonly what: readonly {
        readonly capability: string;
        readonly params?: Readonly<Record<string, unknown>>;
        readonly summary: string;
        readonly reason: string;
        readonly optional: boolean;
        readonly widens?: string;
        readonly sole?: boolean;
      }[];
      readonly claims?: readonly {
        readonly kind: "level" | "reads" | "writes" | "service" | "tap" | "other";
        readonly name: string;
        readonly summary: string;
      }[];
      readonly since: number;
      readonly until: number;
    }[];
  };
  readonly 'sessions.code': { readonly code: string; readonly until: number; readonly pages: readonly string[] };
  readonly 'system.health': {
    readonly ok: boolean;
    readonly status: "ok" | "degraded" | "failed";
    readonly components: Readonly<Record<string, {
      readonly status: "okay" | "waiting" | "blocked" | "error";
      readonly code?: string;
      readonly message?: string;
      readonly version?: string;
      readonly since?: number;
      readonly warning?: { readonly code: "STALL" | "BUSY"; readonly message: string; readonly at?: number };
    }>>;
    readonly bridge: { readonly link: "up" | "down" | "resetting" };
    readonly eventLoop?: {
      readonly p50Ms: number;
      readonly p99Ms: number;
      readonly maxMs: number;
      readonly ownP99Ms?: number;
      readonly utilization: number;
      readonly stalls: number;
      readonly unattributed: number;
    };
    readonly uptimeMs: number;
    readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  };
  readonly 'system.refusals': {
    readonly refusals: readonly {
      readonly ts: number;
      readonly first: number;
      readonly count: number;
      readonly caller: { readonly kind: string; readonly id: string };
      readonly capability: string;
      readonly hint: string;
      readonly class: string;
    }[];
  };
  readonly 'system.reset': { readonly restarts: boolean; readonly reason?: string };
  readonly 'telemetry.show': { readonly metrics?: string; readonly logs?: string; readonly note?: string };
  readonly 'telemetry.status': {
    readonly level: "off" | "crash" | "usage" | "full";
    readonly at?: number;
    readonly by?: string;
    readonly text?: string;
    readonly device?: string;
    readonly to?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly unsent?: string;
    readonly levels: readonly { readonly level: "off" | "crash" | "usage" | "full"; readonly text: string }[];
    readonly queues: readonly {
      readonly id: string;
      readonly to: string;
      readonly waiting: number;
      readonly bytes: number;
      readonly sent: number;
      readonly lost: number;
      readonly oldestAt?: number;
      readonly trouble?: { readonly reason: string; readonly nextAt: number };
    }[];
  };
  readonly 'update.status': {
    readonly state: "idle" | "checking" | "available" | "downloading" | "verifying" | "staged" | "waiting" | "activating" | "probation" | "good" | "rolled-back" | "failed";
    readonly since: number;
    readonly version?: string;
    readonly slot?: "a" | "b";
    readonly reason?: string;
    readonly rule?: string;
    readonly from?: string;
    readonly percent?: number;
    readonly order?: "download" | "apply";
    readonly update?: {
      readonly version: string;
      readonly image: string;
      readonly severity: "normal" | "security";
      readonly notes?: string;
      readonly source: string;
      readonly channel?: string;
      readonly kind: "repository" | "folder" | "archive";
      readonly since: number;
      readonly bytes?: number;
      readonly restarts: readonly string[];
      readonly claims: readonly { readonly plugin: string; readonly capability: string; readonly summary: string }[];
      readonly forms: readonly { readonly store: string; readonly from: number; readonly to: number; readonly way: "both" | "one-way" | "lost" }[];
      readonly wayBack: boolean;
      readonly digest?: string;
      readonly accepted?: boolean;
    };
    readonly running?: { readonly provider: string; readonly slot?: "a" | "b"; readonly version?: string; readonly other?: string };
    readonly channel: string;
    readonly repository?: string;
    readonly automatic: "off" | "check" | "download" | "apply";
    readonly retry?: { readonly failed: number; readonly of: number; readonly at: number; readonly reason: string };
    readonly hold?: { readonly until?: number; readonly reason: string };
    readonly leases: readonly { readonly id: string; readonly holder: string; readonly reason: string; readonly until: number }[];
    readonly checkedAt?: number;
  };
  readonly 'update.why': {
    readonly state: "idle" | "checking" | "available" | "downloading" | "verifying" | "staged" | "waiting" | "activating" | "probation" | "good" | "rolled-back" | "failed";
    readonly next: "check" | "download" | "activate";
    readonly allowed: boolean;
    readonly rule?: string;
    readonly reason?: string;
    readonly sentence?: string;
    readonly todo?: string;
  };
  readonly 'voice.state': {
    readonly state: "idle" | "listening" | "thinking" | "speaking" | "muted" | "error";
    readonly muted: boolean;
    readonly turn?: string;
    readonly reason?: string;
  };
  readonly 'voice.turns': {
    readonly turns: readonly {
      readonly turn: string;
      readonly trace?: string;
      readonly at: number;
      readonly source: "wake" | "button" | "follow-up" | "text";
      readonly wakeword?: string;
      readonly heard?: string;
      readonly nearest?: string;
      readonly confidence?: number;
      readonly unsure?: string;
      readonly close?: string;
      readonly stage?: "local" | "cloud";
      readonly engine?: string;
      readonly plan?: Readonly<Record<string, unknown>>;
      readonly said?: string;
      readonly outcome: "answered" | "refused" | "failed" | "cancelled" | "silent" | "running";
      readonly code?: string;
      readonly spans: readonly { readonly name: string; readonly from: number; readonly to: number; readonly note?: string }[];
      readonly latencyMs?: number;
    }[];
  };
}
