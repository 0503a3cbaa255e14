/** What plugin authors import. Types, references, the hook map, errors and capability ids; no I/O and no state. */

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
export { keepSteady, steadyMs, steadyOrigin } from './kits/monotonic.ts';
export { didYouMean, nearest } from './kits/nearest.ts';
export { afterOwnTime, OwnTimeLimit, type Spent, STRETCH, settlesWithin, spentText } from './kits/own-time.ts';
export { type RedactionRules, redact, redactText, type TextRule, useRedaction } from './kits/redact/index.ts';
export {
  type AppCall,
  type AppSockets,
  appSockets,
  type CallMeta,
  type ReadyMessage,
  type SessionInfo,
} from './services/app-sockets.ts';
export { type AppStore, appStore, type StoredApp, type StoredApps } from './services/app-store.ts';
export {
  type AppSupervisor,
  appSupervisor,
  ENFORCED,
  type Enforced,
  type Enforcement,
  type EnforcementReport,
  type GuestEnd,
  type GuestRun,
  type GuestStart,
  type GuestUsage,
  type OutputLine,
  type OutputStream,
} from './services/app-supervisor.ts';
export {
  APP_STATES,
  type AppLeftOut,
  type AppManifest,
  type AppState,
  type AppStatus,
  type Apps,
  apps,
  stateText,
} from './services/apps.ts';
export {
  type Audio,
  type AudioDevice,
  type AudioDeviceInfo,
  type AudioFrame,
  type AudioPriority,
  type AudioState,
  audio,
  audioDevice,
  CAPTURE_RATE,
  type CleanFrame,
  type EchoCanceller,
  type EchoFrame,
  echoCanceller,
  type FeedbackSound,
  FRAME_MS,
  FRAME_SAMPLES,
  monotonicMs,
  type PcmChunk,
  type PlayOptions,
  type ToneSpec,
} from './services/audio.ts';
export {
  type Bridge,
  type BridgeEndpointStatistics,
  type BridgeRequestOptions,
  type BridgeStatistics,
  bridge,
  type LinkState,
} from './services/bridge.ts';
export { type BridgePort, bridgePort } from './services/bridge-port.ts';
export {
  type BridgeSimulator,
  type BridgeView,
  bridgeSimulator,
  type SimulatedChip,
  type SimulatedEndpoint,
  type SimulatedLine,
} from './services/bridge-simulator.ts';
export {
  type Can,
  type CanArrival,
  type CanBusState,
  type CanFilter,
  type CanFrame,
  type CanHandle,
  type CanHandleInfo,
  can,
} from './services/can.ts';
export {
  CHANGE_STATES,
  type ChangeData,
  type ChangeInfo,
  type ChangeMaker,
  type ChangeRequest,
  type ChangeState,
  type ChangeStep,
  type Changes,
  changes,
} from './services/changes.ts';
export {
  type Config,
  type ConfigChange,
  type ConfigEntry,
  type ConfigLayer,
  type ConfigScope,
  config,
} from './services/config.ts';
export { type Device, type DeviceInfo, device } from './services/device.ts';
export {
  type Display,
  type DisplayState,
  display,
  type Notification,
  type Notifications,
  notifications,
  PANEL_POWER,
  type PanelPower,
  type PluginSurface,
  type SurfaceInput,
  type SurfaceState,
} from './services/display.ts';
export { type Egress, type EgressRefusal, type EgressUsage, egress } from './services/egress.ts';
export {
  type Endpoint,
  type EndpointEvent,
  type EndpointInfo,
  type EndpointPlace,
  type EndpointRequestOptions,
  type EndpointSource,
  type Endpoints,
  endpoints,
  type SourceState,
  type SourceView,
} from './services/endpoints.ts';
export { type BusStats, type EventBus, eventBus } from './services/event-bus.ts';
export { type FlagDeclaration, type Flags, type FlagTold, flags } from './services/flags.ts';
export {
  type FunctionCall,
  type FunctionEntry,
  type FunctionInfo,
  type FunctionLeftOut,
  type FunctionRegistration,
  type FunctionRequest,
  type FunctionSpecification,
  type Functions,
  functions,
  type TypeString,
} from './services/functions.ts';
export {
  type Gpio,
  type GpioEdge,
  type GpioHandle,
  type GpioHandleInfo,
  type GpioLineConfig,
  gpio,
} from './services/gpio.ts';
export { type Grants, grants, type Refusal } from './services/grants.ts';
export type { BridgeHealth, ComponentHealth, ComponentStatus, HealthReport } from './services/health.ts';
export {
  type HttpServer,
  httpServer,
  type PageAnswer,
  type PageRequest,
  type PageSocket,
  type PageSockets,
} from './services/http-server.ts';
export {
  type I2c,
  type I2cHandle,
  type I2cHandleInfo,
  type I2cSegment,
  type I2cTransferOptions,
  i2c,
} from './services/i2c.ts';
export {
  type AppLaunch,
  type Credentials,
  type Identity,
  identity,
  type PeerCredentials,
} from './services/identity.ts';
export {
  type InputDescription,
  type InputEvent,
  type InputSource,
  type Inputs,
  inputs,
  type KeyInput,
  type RotaryInput,
  type TouchInput,
} from './services/input.ts';
export {
  type IntentAnswer,
  type IntentDefinition,
  type IntentInterpreter,
  type IntentMatch,
  type IntentPlan,
  type IntentRun,
  type Intents,
  type InterpreterDescription,
  intents,
  type SlotType,
  type SlotValue,
} from './services/intents.ts';
export {
  type Launcher,
  launcher,
  type PrepareOptions,
  WALLS,
  type Wall,
  type WalledProgram,
  type WallMaker,
  type Walls,
  type WallsReport,
} from './services/launcher.ts';
export {
  type Departure,
  type DepartureLine,
  type DepartureSum,
  type DeparturesLedger,
  ledger,
} from './services/ledger.ts';
export { MACHINE_ACTS, type Machine, type MachineAct, machine } from './services/machine.ts';
export {
  type Network,
  type NetworkLink,
  type NetworkSimulator,
  type NetworkState,
  type NetworkStatus,
  network,
  networkSimulator,
  type WifiNetwork,
} from './services/network.ts';
export {
  type NdefRecord,
  type Nfc,
  type NfcOptions,
  type NfcReaderInfo,
  type NfcSource,
  type NfcTag,
  nfc,
} from './services/nfc.ts';
export {
  type CliView,
  type Invocation,
  type JsonSchema,
  type Operation,
  type OperationError,
  type OperationInfo,
  type Operations,
  operations,
  type RestBinding,
  restStatus,
  type Sensitive,
  type SensitiveAct,
  type ServerSentEvent,
  type StreamChannel,
  type StreamEndpoint,
  type StreamInfo,
} from './services/operations.ts';
export { type Panel, type PanelFrame, type PanelInfo, PIXEL_BYTES, type PixelFormat, panel } from './services/panel.ts';
export {
  type Pio,
  type PioHandle,
  type PioHandleInfo,
  type PioMachineConfig,
  type PioWidth,
  pio,
} from './services/pio.ts';
export {
  type PluginManager,
  type PluginSettings,
  type PluginStatus,
  pluginManager,
  type SkuChange,
} from './services/plugin-manager.ts';
export {
  type Power,
  type PowerSimulator,
  type PowerState,
  type PowerStatus,
  power,
  powerSimulator,
} from './services/power.ts';
export { type Guest, type Processes, type ProcessOwner, processes } from './services/processes.ts';
export {
  type Consent,
  type Consents,
  consents,
  type PanelAnswers,
  type Prompt,
  type PromptItem,
  type PromptOutcome,
  type PromptQuestion,
  type Prompts,
  panelAnswers,
  prompts,
} from './services/prompts.ts';
export {
  type AudioLevel,
  type CharacterPose,
  LAYERS,
  type Layer,
  type Opening,
  PLAIN_SURROUNDINGS,
  type Renderer,
  type RendererReport,
  type Renderers,
  renderers,
  type Surface,
  type SurfaceCost,
  type Surroundings,
  type TextQuestion,
  type TextSize,
  type TreePatch,
} from './services/renderer.ts';
export { type SecretScan, type Secrets, type SecretTold, secretScan, secrets } from './services/secrets.ts';
export {
  type SensorDescription,
  type SensorInfo,
  type SensorQuantity,
  type SensorReading,
  type SensorSource,
  type Sensors,
  sensors,
} from './services/sensors.ts';
export { type Sessions, type SignedIn, type SignIn, sessions } from './services/sessions.ts';
export {
  type ImageFolder,
  type SlotInfo,
  type Slots,
  type SlotsStatus,
  type StageProgress,
  slots,
} from './services/slots.ts';
export {
  type EngineDescription,
  type EngineInfo,
  type EngineKind,
  type Engines,
  type SpeakOptions,
  type Speech,
  type SpeechGrammar,
  type SttEngine,
  speech,
  type TranscribeOptions,
  type Transcript,
  type TtsEngine,
  type VadEngine,
  type VadResult,
  type WakeEngine,
  type WakeHit,
  type WakePhrase,
} from './services/speech.ts';
export { type Spi, type SpiHandle, type SpiHandleInfo, spi } from './services/spi.ts';
export {
  type Uart,
  type UartChunk,
  type UartHandle,
  type UartHandleInfo,
  type UartSettings,
  uart,
} from './services/uart.ts';
export {
  type InhibitLease,
  UPDATE_STATES,
  type UpdateState,
  type Updates,
  type UpdateTold,
  updates,
} from './services/updates.ts';
export {
  type LedgerEntry,
  type Voice,
  type VoiceSpan,
  type VoiceState,
  type VoiceTurn,
  voice,
} from './services/voice.ts';
export {
  type WallTime,
  type WallTimeSimulator,
  type WallTimeState,
  type WallTimeStatus,
  wallTime,
  wallTimeSimulator,
} from './services/wall-time.ts';
