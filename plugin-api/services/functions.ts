import type { Caller } from '../contract/caller.ts';
import { serviceRef } from '../contract/service-ref.ts';
import type { TraceContext } from '../contract/trace.ts';

/** A type string of D10: `string int number bool object array bytes any`, each with an optional `?`. */
export type TypeString = string;

/** Specification "Function entry", and the optional members of D10. */
export interface FunctionEntry {
  readonly name: string;
  /** major.minor.patch */
  readonly version: string;
  readonly inputs?: Readonly<Record<string, TypeString>>;
  readonly returns?: Readonly<Record<string, TypeString>>;
  readonly permissions?: readonly string[];
  /** 50..60,000; 5,000 if absent. */
  readonly timeout_ms?: number;
  readonly idempotent?: boolean;
  readonly description?: string;
  /** Sentences by which it is called by voice, in the syntax of docs/guides/voice.md; the app holds `audio.intent`. */
  readonly utterances?: readonly string[];
  readonly examples?: readonly unknown[];
}

export interface FunctionSpecification {
  readonly app: string;
  readonly functions: readonly FunctionEntry[];
}

/** A function that an app offers and the registry does not have, or that must not be called now, and why. */
export interface FunctionLeftOut {
  readonly app: string;
  readonly name: string;
  readonly version: string;
  /** Code of the error table. */
  readonly code: string;
  readonly reason: string;
  /** The capability that its app does not hold, where that is the reason. */
  readonly capability?: string;
  /** The manifest line that would grant it. */
  readonly hint?: string;
  /** It has sentences, which cannot be said either. */
  readonly utterances?: readonly string[];
}

/** A function on its way into the registry: subject of the hook `function.register`. */
export interface FunctionRegistration {
  readonly app: string;
  readonly entry: FunctionEntry;
}

export interface FunctionInfo extends FunctionEntry {
  readonly app: string;
  /** `<app>/<name>@<version>` */
  readonly id: string;
  /** The app has a session, so that a call can reach it now. */
  readonly available: boolean;
}

/** A call of a function on its way into an app: subject of the hook `function.call`. */
export interface FunctionCall {
  readonly app: string;
  readonly name: string;
  readonly version: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Milliseconds, of `clock.steady()`. */
  readonly deadline: number;
  readonly caller: Caller;
}

export interface FunctionRequest {
  /** Absent: the one app that has a function of this name; ambiguous names are FUNCTION_NOT_FOUND with the candidates. */
  readonly app?: string;
  readonly name: string;
  /** semver range; the newest if absent. */
  readonly version?: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly signal?: AbortSignal;
  /** Milliseconds, of `clock.steady()`; the function's own timeout applies, too. */
  readonly deadline?: number;
  readonly idempotencyKey?: string;
  /** `trace` of the call that it is made for. */
  readonly trace?: TraceContext | undefined;
}

/** The function registry: every version of every function of every app (decisions D5, D6, D10). */
export interface Functions {
  /**
   * All or nothing; the same specification again is fine. Throws FUNCTION_INVALID, VERSION_CONFLICT,
   * CAPABILITY_UNKNOWN, CAPABILITY_DENIED.
   */
  register(specification: FunctionSpecification, session?: string): Promise<readonly FunctionInfo[]>;
  /**
   * Registers the valid functions and keeps the others with their reasons until the app is unregistered. A function
   * that lacked a capability is registered at the first look-up after the grant. Never rejects for one function.
   */
  offer(specification: FunctionSpecification): Promise<{
    readonly registered: readonly FunctionInfo[];
    readonly leftOut: readonly FunctionLeftOut[];
  }>;
  /** Offered functions that are not registered, and registered ones that have lost a capability since. */
  leftOut(filter?: { readonly app?: string }): Promise<readonly FunctionLeftOut[]>;
  /** Resolves with how many were removed: all of the app, all versions of `name`, or one version. */
  unregister(app: string, name?: string, version?: string): Promise<number>;
  list(filter?: { readonly app?: string; readonly name?: string }): Promise<readonly FunctionInfo[]>;
  /** `version` is a semver range; the newest if absent. Throws FUNCTION_NOT_FOUND, PARAMS_INVALID (a range that is none). */
  describe(name: string, options?: { readonly app?: string; readonly version?: string }): Promise<FunctionInfo>;
  /** Throws FUNCTION_NOT_FOUND, PARAMS_INVALID, RESULT_INVALID, APP_NOT_RUNNING, APP_ERROR, BUSY, TIMEOUT, CANCELLED, CAPABILITY_DENIED. */
  call(request: FunctionRequest): Promise<Readonly<Record<string, unknown>>>;
  /** After each change of the registry. */
  onChange(listener: () => void): Disposable;
}

export const functions = serviceRef<Functions>('functions', '1.1.0', 'powerful', 'offers and calls functions of apps');
