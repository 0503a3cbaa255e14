/** Answers of the Core on apps, refusals, changes and questions, as far as the start page shows them. */
export interface App {
  readonly id: string;
  readonly title?: string;
  readonly name: string;
  readonly state: string;
}

export interface Refusal {
  readonly ts: number;
  readonly caller: { readonly kind: string; readonly id: string };
  readonly capability: string;
}

export interface Change {
  readonly id: string;
  readonly summary: string;
  readonly endedAt?: number;
  readonly progress?: { readonly done: number; readonly of: number };
}

export interface Prompt {
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly until: number;
}
