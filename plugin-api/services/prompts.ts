/** Questions to the person who owns the device, and the answers that are kept (decisions D16). */
import type { CapabilityId } from '../contract/capabilities.ts';
import { serviceRef } from '../contract/service-ref.ts';

export interface PromptItem {
  readonly capability: CapabilityId;
  /** Hosts with ports, nodes, budgets: what the capability alone does not say. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** The right, a sentence in English; `rightIn` says it in another language. */
  readonly summary: string;
  /** In the app's own words, and to be shown as such. */
  readonly reason: string;
  readonly optional: boolean;
  /** A grant that it has now and that this one contains. */
  readonly widens?: CapabilityId;
  /** The only host that the app may reach. */
  readonly sole?: boolean;
}

/** An app or a plugin that an act is about, as the person who confirms the act sees it. */
export interface ActSubject {
  readonly id: string;
  /** In its own words, and to be shown as such. */
  readonly title?: string;
  readonly version?: string;
  /** Name of the key that signed it, or its fingerprint where it has no name; null: unsigned; absent: unknown. */
  readonly signer?: string | null;
  /** Rights that it gets by the act. */
  readonly what?: readonly PromptItem[];
  readonly claims?: readonly ActClaim[];
  /** Id of the question that the act answers. */
  readonly answers?: string;
}

/** A right that no capability names. */
export interface ActClaim {
  /** The part that `claimIn` has in other languages. */
  readonly kind: 'level' | 'reads' | 'writes' | 'service' | 'tap' | 'other';
  /** Name of the file, the service, the hook. */
  readonly name: string;
  /** The sentence in English. */
  readonly summary: string;
}

export interface PromptQuestion {
  readonly kind: 'consent' | 'confirm' | 'update';
  /** Subject of the question: an app id. */
  readonly subject: string;
  /** The real title of the subject. */
  readonly title: string;
  /** Name of the key that signed it, or its fingerprint where it has no name; absent: unsigned. */
  readonly signer?: string;
  readonly version?: string;
  /** Act in the words of the Core, where it is about no capability: `remove the app com.example.chime`. */
  readonly act?: string;
  /** The operation of the act and the params that the act names: words in another language are made of them. */
  readonly operation?: string;
  readonly names?: Readonly<Record<string, string>>;
  /** Subject of the act, for kind confirm. */
  readonly about?: Omit<ActSubject, 'what' | 'claims'>;
  /** Rights that are asked for; for kind confirm the rights of the act, which is answered as a whole. */
  readonly what: readonly PromptItem[];
  /** Rights that no capability names. */
  readonly claims?: readonly ActClaim[];
  /** Milliseconds of its time; ten minutes if absent. */
  readonly ms?: number;
}

export interface Prompt extends Omit<PromptQuestion, 'ms'> {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly until: number;
}

/** Outcome of a question. Silence is no. */
export interface PromptOutcome {
  readonly state: 'answered' | 'expired' | 'withdrawn';
  /** Capabilities that were allowed; none unless answered. For kinds without capabilities: `yes` is the one that stands for all. */
  readonly allow: readonly string[];
  /** As `callerName` writes it. */
  readonly by?: string;
  readonly at: number;
}

/** Owns every question; devicectl, page and panel are views of it. */
export interface Prompts {
  /**
   * Shows the question everywhere at once and resolves with what became of it; what was answered about capabilities is
   * kept in `consents` by then. A question of the same kind about the same subject is withdrawn by it. Throws
   * PARAMS_INVALID, and BUSY beyond the bound.
   */
  ask(question: PromptQuestion): Promise<PromptOutcome>;
  withdraw(subject: string, kind: PromptQuestion['kind']): Promise<void>;
  list(): Promise<readonly Prompt[]>;
}

export const prompts = serviceRef<Prompts>('prompts', '1.0.0', 'powerful', 'asks people for their consent');
