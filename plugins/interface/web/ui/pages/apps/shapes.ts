/** Answers of the Core about apps, as far as the page uses it. Times are milliseconds since the Unix epoch. */
import type { AppState, AppStatus } from '@device-core/plugin-api/services/apps';
import type { Answers } from '../../core/answers.ts';

export type { AppState, AppStatus };

/** A capability that an app asks for, and what is decided about it. */
export interface Ask {
  readonly capability: string;
  readonly params?: { readonly ports?: readonly number[] };
  readonly class?: 'normal' | 'sensitive' | 'oem';
  /** The permission in words of the device. */
  readonly summary: string;
  /** The words of the app. */
  readonly reason: string;
  readonly optional: boolean;
  readonly widens?: string;
  readonly sole?: boolean;
  readonly verdict: 'granted' | 'denied' | 'ask';
  readonly by: { readonly from: 'sku' | 'consent' | 'policy' | 'catalogue'; readonly line: string };
  readonly hint?: string;
  /** apps.grant would take it; absent in a difference. */
  readonly grantable?: boolean;
}

export interface Description {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly description?: string;
  readonly author?: string;
  readonly license?: string;
  readonly events?: { readonly subscribe?: readonly string[]; readonly publish?: readonly string[] };
  readonly origin: 'trial' | 'package' | 'folder';
  readonly hasSettings: boolean;
  readonly asks: readonly Ask[];
}

export type Use = Top['usage'][number];

export type Top = Answers['apps.top']['apps'][number];

export interface Uses {
  readonly used: readonly string[];
  readonly refused: readonly { readonly capability: string; readonly ts: number; readonly count: number }[];
}

export type Prompt = Answers['prompts.list']['prompts'][number];

export interface Difference {
  readonly app: string;
  readonly version: string;
  readonly title: string;
  readonly description?: string;
  readonly former?: string;
  readonly asks: readonly Ask[];
  readonly dropped: readonly { readonly capability: string; readonly ports?: readonly number[] }[];
  readonly budgets: readonly { readonly budget: string; readonly from?: number; readonly to?: number }[];
  readonly functions: readonly {
    readonly name: string;
    readonly kind: 'added' | 'changed' | 'removed';
    readonly utterances: readonly string[];
  }[];
}

export interface Installed {
  readonly apps: readonly {
    readonly id: string;
    readonly version: string;
    readonly enabled: boolean;
    readonly signer?: string;
    readonly installedAt: number;
    readonly former?: { readonly version: string };
  }[];
  readonly rolledBack: readonly {
    readonly id: string;
    readonly version: string;
    readonly reason: string;
    readonly at: number;
  }[];
  readonly retained: readonly { readonly id: string; readonly until: number; readonly bytes: number }[];
  readonly disabled: readonly string[];
}
