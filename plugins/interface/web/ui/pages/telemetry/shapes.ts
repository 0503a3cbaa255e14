/** Answers of the Core about telemetry. Times are milliseconds since the Unix epoch. */
export interface Queue {
  readonly id: string;
  readonly to: string;
  readonly waiting: number;
  readonly bytes: number;
  readonly sent: number;
  readonly lost: number;
  readonly trouble?: { readonly reason: string; readonly nextAt: number };
}

export interface Level {
  readonly level: string;
  /** Text for the person who decides. */
  readonly text: string;
}

export interface Status {
  readonly level: string;
  readonly at?: number;
  readonly by?: string;
  readonly device?: string;
  readonly to?: string;
  readonly unsent?: string;
  readonly levels: readonly Level[];
}

/** The next push, to the byte. */
export interface Next {
  readonly metrics?: string;
  readonly logs?: string;
  readonly note?: string;
}

export interface Departure {
  readonly id: string;
  readonly at: number;
  readonly for: string;
  readonly to: string;
  readonly what: string;
  readonly bytes?: number;
}
