/**
 * The one table of errors: code -> HTTP status, JSON-RPC code, message template.
 * Codes are never reused; docs/reference/errors.md is tested against the table both ways.
 * JSON-RPC codes outside -32768..-32000 are not used; the standard ones keep their meaning.
 */
export const ERROR_CODES = {
  // ---- requests: what a caller did wrong ----
  UNAUTHENTICATED: [401, -32001, 'no identity: {reason}'],
  ORIGIN_DENIED: [
    403,
    -32003,
    'cannot accept a request from {header} "{value}": only pages and hosts of this device may call',
  ],
  CAPABILITY_DENIED: [403, -32003, '{caller} does not hold {capability}; grant it with "{hint}"'],
  CALLER_DENIED: [403, -32003, 'cannot {verb}: {reason}'],
  CONFIRMATION_REQUIRED: [403, -32003, 'cannot {what} on the word of a page alone: {reason}'],
  CONTENT_TYPE_INVALID: [400, -32600, 'content type must be {wanted}, not {contentType}'],
  JSON_INVALID: [400, -32700, 'cannot parse JSON: {reason}'],
  REQUEST_INVALID: [400, -32600, 'cannot read the request: {reason}'],
  PARAMS_INVALID: [400, -32602, 'cannot accept {where}: {reason}'],
  REQUEST_TIMEOUT: [408, -32002, 'cannot wait any longer for the request: {reason}'],
  HEADERS_TOO_LARGE: [431, -32600, 'cannot accept more than {limit} bytes of request headers'],
  BODY_TOO_LARGE: [413, -32600, 'cannot accept more than {limit} bytes ({what})'],
  METHOD_NOT_FOUND: [404, -32601, 'there is no operation {name}{suggestion}'],
  METHOD_NOT_ALLOWED: [405, -32601, 'cannot {method} {path}; allowed: {allowed}'],
  SESSION_REQUIRED: [400, -32600, '{operation} needs a JSON-RPC session: {hint}'],
  RATE_LIMITED: [429, -32005, '{caller} exceeded {limit} for {what}; retry in {retryAfterMs} ms'],
  BUSY: [429, -32005, 'cannot start {what}: {limit} are in flight already'],
  QUEUE_FULL: [503, -32006, 'cannot queue {what}: {reason}; retry in {retryAfterMs} ms'],
  UNAVAILABLE: [503, -32006, 'cannot reach {what}: {reason}'],
  ANSWER_INVALID: [502, -32006, 'cannot pass on the answer of {host}: {reason}'],
  TIMEOUT: [504, -32002, '{what} timed out after {ms} ms'],
  CANCELLED: [499, -32800, '{what} was cancelled: {reason}'],
  INTERNAL: [500, -32603, 'internal error in {what}'],
  // ---- kernel and plugins ----
  MANIFEST_INVALID: [400, -32602, 'manifest {file} is not valid: {reason}'],
  SKU_INVALID: [400, -32602, 'SKU {file} is not valid: {reason}'],
  API_VERSION_MISMATCH: [500, -32011, 'plugin {plugin} needs plugin-api {range}, this Core has {version}'],
  PLUGIN_NOT_FOUND: [404, -32004, 'there is no plugin {plugin}'],
  SERVICE_MISSING: [503, -32006, 'service {service} {range} is not there: {reason}'],
  SERVICE_ALREADY_PROVIDED: [500, -32021, 'service {service} is already provided by {plugin}'],
  SERVICE_UNDECLARED: [500, -32022, 'plugin {plugin} did not declare {service} in its manifest'],
  SERVICE_DENIED: [403, -32003, 'plugin {plugin} may not have service {service}: {reason}; granted by {hint}'],
  SERVICE_REVOKED: [503, -32006, 'service {service} was used after {plugin} stopped'],
  DEPENDENCY_CYCLE: [500, -32024, 'plugins depend on each other: {path}'],
  ISOLATION_UNSUPPORTED: [500, -32025, 'plugin {plugin} cannot run at level {isolation}: {reason}'],
  HOOK_UNDECLARED: [500, -32030, 'plugin {plugin} did not declare hook {hook} in its manifest'],
  HOOK_FAILED: [500, -32031, 'plugin {plugin} failed in hook {hook}: {reason}'],
  PLUGIN_START_FAILED: [500, -32040, 'plugin {plugin} failed to start: {reason}'],
  PLUGIN_START_TIMEOUT: [500, -32041, 'plugin {plugin} was not ready after {time}: {step}'],
  PLUGIN_STOP_TIMEOUT: [500, -32042, 'plugin {plugin} still holds {label} after {ms} ms'],
  PLUGIN_CRASHED: [500, -32048, 'plugin {plugin} crashed: {reason}'],
  SCOPE_CLOSED: [500, -32043, 'plugin {plugin} acquired {label} after it was stopped'],
  CHANGE_UNDONE: [409, -32009, 'cannot apply the change: {reason}; the former plugins run again'],
  CHANGE_NOT_FOUND: [404, -32004, 'there is no change {change}'],
  ALREADY_RUNNING: [500, -32044, 'another Core (process {pid}) runs on {root}'],
  OPERATION_CONFLICT: [500, -32045, 'cannot add operation {name}: {what}'],
  CAPABILITY_UNKNOWN: [400, -32602, 'there is no capability {capability}{suggestion}'],
  PACKAGE_INVALID: [400, -32602, 'cannot take {source}: {reason}'],
  PLUGIN_CONFLICT: [409, -32009, 'cannot {verb} plugin {plugin}: {reason}'],
  CLAIMS_UNACCEPTED: [
    409,
    -32009,
    'plugin {plugin} {version} asks for more than it has: it {what}; to grant that, install it with accept: {digest}',
  ],
  PLUGIN_CHANGED: [500, -32050, 'plugin {plugin} was changed after it was installed: {reason}'],
  PLUGIN_ROLLED_BACK: [500, -32051, 'plugin {plugin} {version} failed its probation: {reason}; {outcome}'],
  SIGNATURE_INVALID: [403, -32003, 'cannot trust {what}: {reason}'],
  STATE_NEWER: [
    503,
    -32052,
    'cannot use {file}: it has form {format}, this Core knows forms up to {known}; it is left alone',
  ],
  STATE_CORRUPT: [500, -32046, 'cannot read {file}: {reason}'],
  STATE_UNWRITABLE: [500, -32047, 'cannot write {file}: {reason}'],
  STORAGE_FULL: [507, -32054, 'cannot write {file}: the disk is full ({reason}); free space, then try again'],
  STORAGE_READ_ONLY: [503, -32055, 'cannot write {file}: the disk is read-only ({reason})'],
  STORAGE_FAILED: [503, -32056, 'cannot write {file}: the disk fails ({reason})'],
  // ---- images, slots, updates ----
  SYSTEM_IMAGE_INVALID: [400, -32602, 'cannot take the system image {source}: {reason}'],
  SLOTS_UNAVAILABLE: [503, -32061, 'cannot {verb}: {reason}'],
  UPDATE_REFUSED: [409, -32009, 'cannot {verb} the update: {reason} (rule {rule}); devicectl update why tells more'],
  UPDATE_CONFLICT: [409, -32009, 'cannot {verb} an update: it is {state}'],
  REPOSITORY_UNTRUSTED: [502, -32062, 'cannot trust the repository {url}: {reason}'],
  REPOSITORY_FAILED: [502, -32063, 'cannot read the repository {url}: {reason}'],
  PACKAGE_NOT_FOUND: [404, -32004, 'the repository {url} has no {what}{suggestion}'],
  FETCH_REFUSED: [409, -32009, 'cannot fetch {what}: {reason} (rule {rule})'],
  BACKUP_INVALID: [400, -32602, 'cannot take the backup {source}: {reason}'],
  NETWORK_REFUSED: [409, -32009, 'cannot {verb} network {ssid}: {reason}'],
  // ---- apps and functions ----
  APP_NOT_FOUND: [404, -32004, 'there is no app {app}'],
  APP_NOT_RUNNING: [503, -32006, 'cannot reach app {app}: {reason}'],
  APP_ERROR: [502, -32010, 'app {app} answered {function} with an error: {reason}'],
  SANDBOX_UNAVAILABLE: [
    503,
    -32053,
    'cannot run {what} without walls around it (missing: {walls}): {reason}; install bubblewrap, or set apps.insecure: true in the SKU',
  ],
  APP_CONFLICT: [409, -32009, 'cannot {verb} app {app}: {reason}'],
  APP_CHANGED: [500, -32057, 'app {app} was changed after it was installed: {reason}'],
  APP_ROLLED_BACK: [500, -32058, 'app {app} {version} failed its probation: {reason}; {outcome}'],
  PLATFORM_UNSUPPORTED: [400, -32602, 'cannot run {what} here: it is made for {platforms}, this is {platform}'],
  RUNTIME_MISSING: [503, -32059, 'cannot run {what}: it needs {runtime}, {reason}'],
  CONSENT_REQUIRED: [409, -32009, '{app} {version} needs consent for {capabilities}: {reason}'],
  CONSENT_NOT_FOUND: [404, -32004, 'there is no question {prompt}: {reason}'],
  WARDEN_REFUSED: [500, -32060, 'the warden refused {what}: {reason}'],
  EGRESS_DENIED: [403, -32003, '{app} may not reach {host}: {reason}; grant it with "{hint}"'],
  FUNCTION_NOT_FOUND: [404, -32004, 'there is no function {name}{reason}'],
  FUNCTION_INVALID: [400, -32602, 'cannot register function {name}: {reason}'],
  VERSION_CONFLICT: [409, -32009, 'function {name} {version} of {app} is registered with another specification'],
  RESULT_INVALID: [502, -32010, 'app {app} answered {function} with a result that does not fit: {reason}'],
  // ---- configuration ----
  FLAG_UNKNOWN: [404, -32004, 'there is no feature flag "{flag}"{suggestion}'],
  CONFIG_KEY_NOT_FOUND: [404, -32004, 'configuration key {key} is not set'],
  CONFIG_KEY_INVALID: [400, -32602, 'configuration key {key} is not valid: {reason}'],
  CONFIG_VALUE_INVALID: [400, -32602, 'cannot set {key}: {reason}'],
  CONFIG_CONFLICT: [409, -32009, 'cannot set {key}: its revision is {revision}, not {expected}'],
  CONFIG_LOCKED: [403, -32003, 'cannot set {key}: the OEM locked it ({where})'],
  // ---- secrets, and what leaves the device ----
  SECRET_NOT_FOUND: [404, -32004, 'there is no secret {name}{suggestion}'],
  SECRET_DENIED: [403, -32003, '{caller} may not use secret {name}: {reason}'],
  SECRETS_LOCKED: [503, -32064, 'cannot use the secrets: {reason}'],
  OUTBOX_FULL: [503, -32006, 'cannot queue {what} for {to}: {reason}'],
  CONSENT_MISSING: [403, -32003, 'cannot send {what}: it needs the consent {level}, given is {given}'],
  TRACE_NOT_FOUND: [404, -32004, 'there is no trace {trace}: {reason}'],
  // ---- events ----
  TOPIC_INVALID: [400, -32602, 'topic {topic} is not valid: {reason}'],
  FILTER_INVALID: [400, -32602, 'topic filter {filter} is not valid: {reason}'],
  TOPIC_DENIED: [403, -32003, '{caller} cannot publish {topic}; it may publish {allowed}'],
  SUBSCRIPTION_LIMIT: [429, -32005, 'cannot subscribe to {filter}: {limit} subscriptions are the limit'],
  // ---- streams and app sockets ----
  STREAM_NOT_FOUND: [404, -32004, 'there is no stream {stream}'],
  STREAM_LIMIT: [429, -32005, 'cannot open stream {stream}: {limit} open streams are the limit'],
  STREAM_OVERRUN: [400, -32602, 'cannot take {bytes} bytes on stream {stream}: {credit} bytes of credit are left'],
  BROWSER_UNKNOWN: [401, -32001, 'this browser does not stay signed in: {reason}'],
  SESSION_NOT_FOUND: [404, -32004, 'there is no session {session}'],
  SESSION_CLOSED: [503, -32006, 'the session of {app} is closed: {reason}'],
  // ---- SPI (specification, "SPI subsystem error codes") and the bridge ----
  NOT_INITIALIZED: [500, -32100, 'cannot transfer: {reason}'],
  HANDLE_NOT_FOUND: [500, -32101, '{bus} handle {handle} is not registered'],
  HANDLE_ALREADY_REGISTERED: [409, -32102, '{bus} handle {handle} is already registered by {owner}'],
  TRANSFER_FAILED: [500, -32104, 'cannot transfer on {handle}: {reason}'],
  INVALID_HANDLE: [400, -32105, '{bus} handle name {handle} is not valid: {reason}'],
  INVALID_SPEED: [400, -32106, 'SPI speed {speed} is not valid: it must be > 0 Hz{reason}'],
  INVALID_MODE: [400, -32107, 'SPI mode {mode} is not valid: it must be 0 to 3'],
  BRIDGE_FAILED: [502, -32110, 'bridge endpoint {endpoint} answered {status}'],
  ENDPOINT_EXISTS: [409, -32009, 'endpoints of {source} are already served'],
  // ---- sensors ----
  SENSOR_NOT_FOUND: [404, -32004, 'there is no sensor {sensor}{suggestion}'],
  SENSOR_CONFLICT: [409, -32009, 'sensor {sensor} is already there, of {owner}'],
  READER_NOT_FOUND: [404, -32004, 'there is no NFC reader {reader}'],
  TAG_NOT_FOUND: [404, -32004, 'there is no tag at NFC reader {reader}'],
  TAG_FAILED: [502, -32112, 'cannot {verb} the tag: {reason}'],
  SENSOR_FAILED: [502, -32111, 'cannot read sensor {sensor}: {reason}'],
  // ---- sound and speech ----
  AUDIO_UNAVAILABLE: [503, -32006, 'cannot {verb}: {reason}'],
  VOICE_MUTED: [409, -32009, 'cannot listen: the microphone is muted'],
  ENGINE_MISSING: [503, -32006, 'there is no {kind} engine for this: {reason}'],
  SPEECH_FAILED: [502, -32113, '{engine} failed: {reason}'],
  LANGUAGE_UNSUPPORTED: [400, -32602, '{engine} does not know the language {language}'],
  MODEL_INVALID: [500, -32114, 'cannot use the model {path}: {reason}'],
  // ---- the panel ----
  SCENE_INVALID: [400, -32602, 'cannot show {what}: {where}: {reason}'],
  SCENE_CONFLICT: [409, -32009, 'cannot change {what}: it has version {version}, not {expected}'],
  SURFACE_TOO_COSTLY: [429, -32005, 'the surface of {app} was closed: {reason}'],
  NOT_FOREGROUND: [409, -32009, 'cannot {verb}: {reason}'],
  IMAGE_INVALID: [400, -32602, 'cannot take the image {image}: {reason}'],
  PANEL_UNAVAILABLE: [503, -32006, 'cannot reach the panel: {reason}'],
  NOTIFICATION_NOT_FOUND: [404, -32004, 'there is no notification {notification}'],
  INTENT_NOT_FOUND: [404, -32004, 'there is no intent {intent}'],
} as const satisfies Record<string, readonly [status: number, rpcCode: number, template: string]>;

/** A code of the table. */
export type CoreErrorCode = keyof typeof ERROR_CODES;
/** `plugin.<id of the plugin>.<CODE>`, a code of a plugin's own. */
export type PluginErrorCode = `plugin.${string}.${string}`;
/** Any code that an error may carry. */
export type ErrorCode = CoreErrorCode | PluginErrorCode;

export const PLUGIN_ERROR_STATUS = [400, 403, 404, 409, 429, 500, 502, 503, 504] as const;
/** Every code of a plugin has this one over JSON-RPC; `data.code` tells them apart. */
export const PLUGIN_ERROR_RPC_CODE = -32010;

/**
 * An error that a plugin defines for itself, as plain data:
 * `{ code: 'plugin.tea.KETTLE_DRY', status: 409, template: 'cannot boil {what}: there is no water' }`. Operations name
 * it in `errors`, and `new CoreError(KETTLE_DRY, { what })` is thrown.
 */
export interface PluginErrorKind {
  readonly code: PluginErrorCode;
  /** HTTP status. */
  readonly status: (typeof PLUGIN_ERROR_STATUS)[number];
  /** Message, with `{member}` for details. */
  readonly template: string;
}

/**
 * An error of the table, or of a plugin's own. `message` is for people, `code` for programs, `details` fills the
 * template and travels to the caller.
 */
export class CoreError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  /** Declaration of the code by the plugin that threw it; absent for codes of the table. */
  declare readonly kind?: PluginErrorKind;

  constructor(
    kind: CoreErrorCode | PluginErrorKind,
    details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(typeof kind === 'string' ? formatError(kind, details) : filled(kind.template, details), options);
    this.name = 'CoreError';
    this.code = typeof kind === 'string' ? kind : kind.code;
    this.details = details;
    if (typeof kind !== 'string') this.kind = kind;
  }

  /** HTTP status of the table, or that of the plugin. */
  get status(): number {
    return this.kind?.status ?? ERROR_CODES[this.code as CoreErrorCode][0];
  }

  /** JSON-RPC error code of the table; -32010 for codes of plugins. */
  get rpcCode(): number {
    return this.kind ? PLUGIN_ERROR_RPC_CODE : ERROR_CODES[this.code as CoreErrorCode][1];
  }

  /** Text of `error` on the wire: `<CODE>: <text>` (decisions D5). */
  toWire(): string {
    return `${this.code}: ${this.message}`;
  }
}

/** The message of a code with its details filled in; an absent detail leaves nothing behind. */
export function formatError(code: CoreErrorCode, details: Readonly<Record<string, unknown>>): string {
  return filled(ERROR_CODES[code][2], details);
}

function filled(template: string, details: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{(\w+)\}/g, (_, key: string) => String(details[key] ?? ''));
}

/** Why a value cannot be an error of this plugin; undefined where it can. Without a plugin its id is not looked at. */
export function pluginErrorProblem(value: unknown, plugin?: string): string | undefined {
  const { code, status, template } = Object(value) as Partial<PluginErrorKind>;
  const [, id] = /^plugin\.([a-z][a-z0-9-]*)\.[A-Z][A-Z0-9_]*$/.exec(String(code)) ?? [];
  if (id === undefined) return `${String(code)} is not of the form plugin.${plugin ?? '<id>'}.CODE`;
  if (plugin !== undefined && id !== plugin) return `${String(code)} is a code of plugin ${id}`;
  if (!PLUGIN_ERROR_STATUS.some((one) => one === status))
    return `the status of ${String(code)} is none of ${PLUGIN_ERROR_STATUS.join(', ')}`;
  return typeof template === 'string' ? undefined : `${String(code)} has no template`;
}

/**
 * Any thrown value as a CoreError: one of ours stays as it is, a full or read-only disk has its own, anything else
 * becomes INTERNAL with the cause kept for the log.
 */
export function toCoreError(thrown: unknown, what: string): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const { code, path } = Object(thrown) as { readonly code?: unknown; readonly path?: string };
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  if (full || code === 'EROFS')
    return new CoreError(
      full ? 'STORAGE_FULL' : 'STORAGE_READ_ONLY',
      { file: path ?? what, reason: reasonOf(thrown) },
      { cause: thrown },
    );
  return new CoreError('INTERNAL', { what }, { cause: thrown });
}

/** One line for a log or another message, without a stack. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
