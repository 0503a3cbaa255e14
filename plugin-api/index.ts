/** Exports for plugin authors. Types, references, the hook map, errors and capability ids; no I/O and no state. */

export {
  ANONYMOUS,
  type CallContext,
  type Caller,
  type CallerKind,
  type CallerPeer,
  callerName,
  type OperatorRole,
  type Session,
  type TcpConnection,
} from './contract/caller.ts';
export {
  CAPABILITIES,
  type CapabilityClass,
  type CapabilityId,
  type CapabilityInfo,
  classOf,
  describeCapability,
  grantHint,
  implies,
  suggestCapability,
  touches,
  unknownCapability,
} from './contract/capabilities.ts';
export type { Clock } from './contract/clock.ts';
export type { Configurable } from './contract/configurable.ts';
export { type CrashLimits, CrashPolicy, type CrashState } from './contract/crash-policy.ts';
export {
  CoreError,
  type CoreErrorCode,
  ERROR_CODES,
  type ErrorCode,
  formatError,
  PLUGIN_ERROR_RPC_CODE,
  PLUGIN_ERROR_STATUS,
  type PluginErrorCode,
  type PluginErrorKind,
  pluginErrorProblem,
  reasonOf,
  toCoreError,
} from './contract/errors.ts';
export { EVENTS, type EventDescription } from './contract/event-table.ts';
export {
  type Bus,
  type EventEnvelope,
  type EventHandler,
  type LossReceipt,
  PRIORITIES,
  type Priority,
  type SubscribeOptions,
  type Subscription,
} from './contract/events.ts';
export {
  HOOKS,
  type HookCaller,
  type HookId,
  type HookMap,
  type LoadedPlugin,
  type PluginSource,
  type Tap,
} from './contract/hooks.ts';
export type { Logger } from './contract/logger.ts';
export type {
  Isolation,
  PluginBudget,
  PluginManifest,
  ProgramDeclaration,
  SkuManifest,
  SkuPlugin,
  StateForms,
} from './contract/manifest.ts';
export {
  type Capabilities,
  definePlugin,
  PLUGIN_STATES,
  type PluginDefinition,
  type PluginHost,
  type PluginState,
} from './contract/plugin.ts';
export type { PageButton, PagePanel, PageSource, PageText, PageValue, PluginPage } from './contract/plugin-page.ts';
export type { Scope, Within } from './contract/scope.ts';
export { isSecretRef, LONGEST_SECRET, SECRET_REF, Secret, type SecretRef } from './contract/secret.ts';
export {
  FOR_USER,
  type Resolved,
  type ServesEachUser,
  type ServiceRef,
  type ServiceRefs,
  type ServiceUser,
  serviceRef,
} from './contract/service-ref.ts';
export { descriptorOf } from './contract/socket-descriptor.ts';
export { isNewer, newerForm, type StateChange, stateChanges, stateOf } from './contract/state-form.ts';
export type { BrowserProof, StayingBrowser } from './contract/staying-browsers.ts';
export { canonicalFilter, changedFilters, checkTopic, matchesTopic, parseFilter } from './contract/topics.ts';
export {
  CALLBACK_KINDS,
  type CallbackKind,
  type CallbackUsage,
  type CoreLoad,
  type LoopUsage,
  type PluginUsage,
  type SampledUsage,
  type UsageBudget,
  type UsageWarning,
} from './contract/usage.ts';
export { API_VERSION } from './contract/version.ts';
export { decodeBase64 } from './kits/base64.ts';
export { whileThere } from './kits/bind-service.ts';
export { type AfterQuietOptions, afterQuiet } from './kits/debounce.ts';
export { type RoundsOptions, rounds } from './kits/interval.ts';
export { isNestedDeeperThan, MAX_JSON_DEPTH } from './kits/json-depth.ts';
export { LazyAbort, WHEN_ABORTED } from './kits/lazy-abort.ts';
export { maybe } from './kits/maybe.ts';
export { keepSteady, steadyMs, steadyOrigin } from './kits/monotonic.ts';
export { didYouMean, nearest } from './kits/nearest.ts';
export { afterOwnTime, OwnTimeLimit, type Spent, STRETCH, settlesWithin, spentText } from './kits/own-time.ts';
