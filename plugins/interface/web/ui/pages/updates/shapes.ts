/** Answers of the Core about updates. Times are milliseconds since the Unix epoch. */
export type State =
  | ('idle' | 'checking' | 'available' | 'downloading' | 'verifying' | 'staged' | 'waiting' | 'activating')
  | ('probation' | 'good' | 'rolled-back' | 'failed');

export interface Image {
  readonly version: string;
  readonly severity: 'normal' | 'security';
  readonly notes?: string;
  readonly source: string;
  readonly bytes?: number;
  readonly restarts: readonly string[];
  readonly claims: readonly { readonly plugin: string; readonly capability: string; readonly summary: string }[];
  readonly forms: readonly {
    readonly store: string;
    readonly from: number;
    readonly to: number;
    readonly way: string;
  }[];
  readonly wayBack: boolean;
  readonly digest?: string;
  readonly accepted?: boolean;
}

export interface Status {
  readonly state: State;
  readonly since: number;
  readonly version?: string;
  readonly from?: string;
  readonly slot?: string;
  readonly reason?: string;
  readonly percent?: number;
  readonly update?: Image;
  readonly running?: {
    readonly provider: string;
    readonly slot?: string;
    readonly version?: string;
    readonly other?: string;
  };
  readonly channel: string;
  readonly repository?: string;
  readonly automatic: string;
  readonly hold?: { readonly until?: number; readonly reason: string };
  readonly leases: readonly {
    readonly id: string;
    readonly holder: string;
    readonly reason: string;
    readonly until: number;
  }[];
  readonly checkedAt?: number;
}

export interface Why {
  readonly state: State;
  readonly next: 'check' | 'download' | 'activate';
  readonly allowed: boolean;
  readonly rule?: string;
  readonly reason?: string;
  readonly sentence?: string;
  readonly todo?: string;
}

export interface Step {
  readonly at: number;
  readonly state: string;
  readonly version?: string;
  readonly from?: string;
  readonly slot?: string;
  readonly reason?: string;
  readonly by?: string;
}
