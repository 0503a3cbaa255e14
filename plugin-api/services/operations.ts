import type { CallContext } from '../contract/caller.ts';
import {
  type CoreError,
  type CoreErrorCode,
  ERROR_CODES,
  type ErrorCode,
  type PluginErrorKind,
} from '../contract/errors.ts';
import type { JsonSchema } from '../contract/json-schema.ts';
import type { PageView } from '../contract/plugin-page.ts';
import { serviceRef } from '../contract/service-ref.ts';
import type { WHEN_ABORTED } from '../kits/lazy-abort.ts';
import type { ActSubject } from './prompts.ts';

export type { JsonSchema } from '../contract/json-schema.ts';
export type { PageAction, PageView } from '../contract/plugin-page.ts';

/** How an operation is seen over REST. Data only: documents are generated from it and it crosses process borders. */
export interface RestBinding {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `:name` segments, the query (GET, DELETE) and the body (POST, PUT) together are the params. */
  readonly path: string;
  /** Status of success; 200 if absent. */
  readonly status?: number;
  /** Status by the value of one member of the result, `{ member: 'status', map: { failed: 503 } }`. */
  readonly statusBy?: { readonly member: string; readonly map: Readonly<Record<string, number>> };
  /** Success is the result itself, not `{ok: true, ...result}`. */
  readonly bare?: boolean;
  /** Success is a text of this media type, `text/plain; version=0.0.4`: run() returns a string. Without JSON-RPC: `rpc: false`. */
  readonly text?: string;
  /**
   * Failures that the specification fixes otherwise: statuses by code, the status of every other code, and a body of
   * `ok` and `error` alone.
   */
  readonly failure?: {
    readonly bare?: boolean;
    readonly status?: Partial<Readonly<Record<ErrorCode, number>>>;
    readonly otherwise?: number;
  };
  /** Bytes of the request body; 256 KiB if absent. */
  readonly bodyLimit?: number;
  /**
   * The body is no JSON but `application/octet-stream`, streamed to a file of at most `bodyLimit` bytes. Its only param
   * is `file`, which run() may take away.
   */
  readonly raw?: boolean;
  /** run() returns an AsyncIterable of ServerSentEvent, sent as text/event-stream until one side ends. */
  readonly sse?: boolean;
}

/** Faults of the caller found before run(): these keep their status of the table despite `failure.otherwise`. */
const CALLER_FAULTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'ORIGIN_DENIED',
  'CAPABILITY_DENIED',
  'CALLER_DENIED',
  'CONFIRMATION_REQUIRED',
  'CONTENT_TYPE_INVALID',
  'JSON_INVALID',
  'REQUEST_INVALID',
  'PARAMS_INVALID',
  'BODY_TOO_LARGE',
  'METHOD_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'SESSION_REQUIRED',
  'RATE_LIMITED',
  'BUSY',
]);

/** HTTP status with which a code leaves a route: what the binding fixes for it, else the status of the table. */
export function restStatus(
  rest: RestBinding | undefined,
  error: CoreErrorCode | { readonly code: ErrorCode; readonly status: number },
): number {
  const { code, status } = typeof error === 'string' ? { code: error, status: ERROR_CODES[error][0] } : error;
  const fixed = rest?.failure?.status?.[code];
  if (fixed !== undefined) return fixed;
  const otherwise = CALLER_FAULTS.has(code) ? undefined : rest?.failure?.otherwise;
  return otherwise ?? status;
}

/**
 * An operation that a page may not do on its own word: the person confirms it on the panel of the device or with a
 * fresh code (decisions D13). Callers that did not sign in in a browser are not asked. Data only, it crosses process
 * borders.
 */
export interface Sensitive {
  /** Act with the params in braces: `remove the app {id}`. Shown to the person who confirms it. */
  readonly act: string;
  /** Members of the params with which it is harmless: `{ check: true }`. */
  readonly unless?: Readonly<Record<string, unknown>>;
}

/** One such call, as the hook `operation.confirm` gets it. */
export interface SensitiveAct {
  readonly operation: string;
  /** `remove the app com.example.chime`; long values are cut, for messages and logs. */
  readonly what: string;
  /** The same in full, for the person who confirms it. */
  readonly act: string;
  /** Params that the act names, in full; for words in another language. */
  readonly names: Readonly<Record<string, string>>;
  /** Subject of the act; asked once, before the person is. Rejects as the operation itself would. */
  readonly about?: () => Promise<ActSubject | undefined>;
  /** The operation and all of its params, as long as they are: a confirmation holds for these and no others. */
  readonly exact: string;
}

/** Error that an operation may answer with: a code of the table, or one that its plugin defines. */
export type OperationError = CoreErrorCode | PluginErrorKind;

/** One item of an operation with `sse`. */
export interface ServerSentEvent {
  readonly event?: string;
  readonly id?: string;
  readonly data: unknown;
}

/**
 * How an operation is seen as a command of devicectl. Every member may be left out: a command is made from the name,
 * the params and the result alone, `plugins.restart` is `devicectl plugin restart <id>`. Data only, it crosses process
 * borders and stands in the OpenRPC document as `x-cli`.
 */
export interface CliView {
  /** Words of the command, `why`; absent: the name of the operation in kebab case, its first word in the singular. */
  readonly command?: string;
  /** Other words for the same; the noun alone (`spi`) makes it what the noun does without a verb, where there is no `list`. */
  readonly aliases?: readonly string[];
  /** Params that stand at a place instead of behind a flag, in this order; absent: those required that are one word. */
  readonly fixed?: readonly string[];
  /** Param -> names of its flag, `{ rxLen: ['rx'] }` for `--rx`; one of a single letter is `-r`. Absent: the param in kebab case. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
  /** Values of params that the caller leaves out. */
  readonly given?: Readonly<Record<string, unknown>>;
  /**
   * Columns of the list in the result, or members of a result without list: a member, or a title and a template.
   * `{a.b}` in a template stands for a member, `{a|b}` for the first that is there, `{a:ago}`, `{a:time}`, `{a:date}`,
   * `{a:ms}`, `{a:json}`, `{a:count}` for one that is formatted, and `{a:if}` for nothing. A column that is empty in
   * every row is left out.
   */
  readonly columns?: readonly (string | readonly [title: string, template: string])[];
  /** Lines instead of the result, with members of the params and the result: the first template that has all its members. */
  readonly done?: string | readonly string[];
  /** Line instead of a list without items. */
  readonly empty?: string;
  /** `true`: no command. Params without a flag, and members of the result that are not shown. */
  readonly hide?: true | readonly string[];
  /** Progress text for a person at a terminal: `installing`. */
  readonly progress?: string;
  /** Param that is read from standard input where the command line does not give it and standard input is not a terminal. */
  readonly stdin?: string;
  /** Takes `--yes` as the commands beside it do that ask first. This one asks nothing, so it changes nothing. */
  readonly takesYes?: true;
}

/**
 * One row of the public interface, defined once beside the plugin that does the work. The REST front end, the JSON-RPC
 * front end, the OpenAPI and OpenRPC documents, the commands of devicectl and the capability check are views of it.
 */
export interface Operation<P = unknown, R = unknown> {
  /** Dotted, `spi.transfer`: JSON-RPC method and operationId. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** Schema of the params object; `{type: 'object', ...}`. */
  readonly params: JsonSchema;
  readonly result: JsonSchema;
  /**
   * Capability that the caller must hold, for example `system.apps`. `bridges.spi:{handle}` takes the scope from the param `handle`; where
   * that param is not a string, any scope of the family is enough to get the error of the request. `sensors.{name}` is the member of a
   * family that the param names; the param is required. Absent: every identified caller, as far as `access` says nothing else.
   */
  readonly capability?: string;
  /** Further condition that run() checks, a sentence for the documents: `Apps only.` */
  readonly access?: string;
  /** Callers without identity may use it, too. */
  readonly anonymous?: boolean;
  /** A page that signed in to look may use it although it is no GET: it changes nothing but what is its own. */
  readonly viewers?: boolean;
  /** A page has it confirmed by the person, each time. */
  readonly sensitive?: Sensitive;
  /** Subject of a sensitive call, for the person who confirms it. Changes nothing; rejects where run() would be refused. */
  about?(params: P, call: CallContext): Promise<ActSubject | undefined>;
  readonly rest?: RestBinding;
  /** False hides it from the JSON-RPC front end. */
  readonly rpc?: boolean;
  /**
   * Its command, or several commands with different values of its params. Only an operation with `rest`, seen by
   * JSON-RPC as well, is a command.
   */
  readonly cli?: CliView | readonly CliView[];
  /** Its page in the browser, for an operation with REST `GET`. */
  readonly page?: PageView;
  /** Errors of run(); codes of the gate are implied. A plugin's error bears the id of that plugin. */
  readonly errors: readonly OperationError[];
  /** The whole call; 30,000 if absent, and a caller may only shorten it. */
  readonly timeoutMs?: number;
  /** run() ends by itself at `deadline`, with an error that says what has happened by then; the gate waits a moment longer for it. */
  readonly keepsDeadline?: boolean;
  run(params: P, call: CallContext): Promise<R> | AsyncIterable<R>;
}

/** `plugin` is whose it is. */
export type OperationInfo = Omit<Operation, 'run' | 'about'> & { readonly plugin?: string };

/** Bytes both ways between an app and a plugin, with credit on each side (decisions D9). */
export interface StreamChannel {
  readonly id: string;
  /** Aborted when the stream is over, whichever side ended it. */
  readonly signal: AbortSignal;
  /** Bytes from the app; reading grants the app new credit. Ends when the app closes. */
  readonly incoming: AsyncIterable<Uint8Array>;
  /** Resolves when the app's credit covered the chunk and the socket took it. Rejects with CANCELLED when the stream is over. */
  send(chunk: Uint8Array): Promise<void>;
}

/** A kind of stream an app may open. */
export interface StreamEndpoint<P = unknown> {
  /** Dotted, `system.loopback`. */
  readonly name: string;
  readonly summary: string;
  /** From the app's side. */
  readonly direction: 'read' | 'write' | 'duplex';
  readonly params: JsonSchema;
  readonly capability?: string;
  /** Whether a page that signed in to look may open it; those that are read, if absent. */
  readonly viewers?: boolean;
  /** Runs for the life of the stream: the stream ends when it settles, with its error if it rejects. */
  run(params: P, channel: StreamChannel, call: CallContext): Promise<void>;
}

export type StreamInfo = Omit<StreamEndpoint, 'run'> & { readonly plugin?: string };

/** A call as a front end hands it over: everything but the log, and the params as they came. */
export type Invocation = Omit<CallContext, 'log'> & {
  /** For one listener, which is called at once where the call is aborted already: what the signal says, without making the signal. */
  [WHEN_ABORTED]?(listener: (reason: unknown) => void): void;
};

/** The one table and the one gate: identity -> capability -> rate -> schema -> handler -> deadline. */
export interface Operations {
  /**
   * Disposing removes it and fails its calls in flight (UNAVAILABLE). Throws OPERATION_CONFLICT (name, path),
   * CAPABILITY_UNKNOWN, PARAMS_INVALID (a schema that does not compile).
   */
  add(operation: Operation<never, unknown>): Disposable;
  addStream(endpoint: StreamEndpoint<never>): Disposable;
  /** Sorted by name. */
  list(): Promise<readonly OperationInfo[]>;
  streams(): Promise<readonly StreamInfo[]>;
  /**
   * Called at once, and after each change of the table (changes of one turn of the event loop come together). What has
   * just gone with its plugin is in the list for a while: calls of it are answered with UNAVAILABLE and `retryAfterMs`,
   * for the plugin may only be restarting.
   */
  watch(listener: (operations: readonly OperationInfo[]) => void): Disposable;
  /**
   * Checks whether this caller may use the operation with any params; a front end calls it before it reads a body.
   * Resolves with the refusal, if any.
   */
  permitted(name: string, call: Invocation): Promise<CoreError | undefined>;
  /** The one gate. Rejects with a CoreError, always. */
  invoke(name: string, params: unknown, call: Invocation): Promise<unknown>;
  /** The gate of streams: resolves with a promise of the end once the stream is open. */
  openStream(
    name: string,
    params: unknown,
    channel: StreamChannel,
    call: Invocation,
  ): Promise<{ readonly done: Promise<void> }>;
}

export const operations = serviceRef<Operations>('operations', '1.0.0', 'open');
