import type { CoreErrorCode, PluginDefinition, PluginHost, ServiceRef } from '@device-core/plugin-api';
import { CoreError, reasonOf, steadyOrigin } from '@device-core/plugin-api';
import type { GrantSource } from '../capabilities.ts';
import { systemClock } from '../clock.ts';
import { outcome } from '../deadline.ts';
import type { Elsewhere } from '../elsewhere.ts';
import { GUEST_LIMITS, type GuestLimits, type GuestUsage, GuestWatch } from '../usage/guest-watch.ts';
import { threadTime } from '../usage/loop-time.ts';
import type { GuestRoot, RunningGuest } from './guest/protocol.ts';
import { hostRoot } from './host-root.ts';
import { type LaunchOptions, prepareLaunch } from './launch.ts';
import { type Blame, crash, EndedWith } from './launched.ts';
import { BoundedLog } from './output.ts';
import { Peer } from './remote/index.ts';

export interface IsolatedOptions extends LaunchOptions {
  /** An end without a stop, at most once for each start. The resources of the plugin are revoked before the call. */
  readonly onCrash: (error: CoreError) => void;
  readonly onUsage?: (usage: GuestUsage) => void;
  readonly limits?: Partial<GuestLimits>;
  /** For tests: receives the border once it stands. */
  readonly onPeer?: (peer: Peer) => void;
}

/** Time for the guest to end after its scope. */
const EXIT_MS = 500;

/** Definition of a plugin in a separate worker or process; a host starts it like any other. Each setup() starts a fresh one. */
export function isolatedPlugin(options: IsolatedOptions): PluginDefinition & Elsewhere {
  const { manifest } = options;
  const requires: Record<string, ServiceRef<unknown>> = {};
  for (const id of Object.keys(manifest.requires ?? {})) requires[id] = { kind: 'service', id, version: '0.0.0' };
  const place: Place = { lostMs: () => 0 };
  return {
    requires,
    setup: (host, services) => setup(host, services as Readonly<Record<string, object>>, options, place),
    lostMs: () => place.lostMs(),
  };
}

/** The present place of the plugin and its waits for a processor; zero before the place is known. */
type Place = { lostMs: () => number };

async function setup(
  host: PluginHost,
  services: Readonly<Record<string, object>>,
  options: IsolatedOptions,
  place: Place,
): Promise<void> {
  const { manifest, level, onCrash, onUsage } = options;
  const { id, scope } = host;
  const limits = { ...GUEST_LIMITS, ...options.limits };
  const log = new BoundedLog(host.log);
  const began = systemClock.monotonic();
  const making = () => systemClock.monotonic() - began;
  place.lostMs = making; // the plugin itself has not begun
  const launch = await prepareLaunch({ ...options, signal: scope.signal });
  // It was stopped meanwhile: nothing was started yet.
  if (scope.signal.aborted) throw new CoreError('SCOPE_CLOSED', { plugin: id, label: level });
  const launched = launch();
  let thread: string | undefined;
  const madeMs = making();
  place.lostMs = () => madeMs + (threadTime(`/proc/${thread ?? launched.program()}/schedstat`)?.waitedMs ?? 0);
  let over = false;
  const fail = (error: CoreError, blame: Blame = 'it'): void => {
    if (over) return;
    over = true;
    const { cause, details } = error;
    const told = { plugin: id, reason: details.reason };
    const as = (code: CoreErrorCode) => (error instanceof EndedWith ? error : new CoreError(code, told, { cause }));
    peer.close(started ? error : as('PLUGIN_START_FAILED')); // before that, only the start is awaited
    void launched.kill(String(details.reason), blame);
    log.told();
    if (started) onCrash(as('PLUGIN_CRASHED'));
  };
  let started = false;
  const budget = options.budget ?? manifest.budget ?? {};
  const watch = new GuestWatch({
    budget,
    limits,
    memory: launched.memory,
    heapMB: launched.heapMB,
    isThread: level === 'worker',
    waitedMs: place.lostMs,
    onVerdict: (reason, blame) => fail(crash(id, reason), blame),
    onBusy: (percent, allowed) =>
      log.write('warn', { percent, allowed }, `${level} takes ${percent} % of a processor, ${allowed} % are allowed`),
  });
  const root = hostRoot({
    host,
    write: (lineLevel, fields, message) => log.write(lineLevel, fields, message),
    alive(usage) {
      if (Number.isSafeInteger(usage.thread)) thread = `self/task/${usage.thread}`;
      watch.alive(usage);
      onUsage?.(usage);
    },
    crashed: (error, blame) => fail(crash(id, `an error escaped from it: ${error.message}`, error), blame),
    congested: (ms) => peer.notify('congested', ms),
    stopped: () => stopOnce(),
  });
  const peer = new Peer(launched.port, {
    name: `plugin ${id}`,
    root,
    log: host.log,
    // Start and stop have separate limits.
    limits: { callMs: Math.max(60_000, manifest.startTimeoutMs ?? 0, (manifest.stopTimeoutMs ?? 0) + EXIT_MS) },
    onBreach: fail,
    onRequest: () => watch.message(),
    turns: { ms: limits.turnMs, onSpent: (ms) => watch.spent(ms) },
    onUnheard: (err) => log.write('warn', { err }, `a call failed that nobody waited for: ${reasonOf(err)}`),
  });
  options.onPeer?.(peer);
  for (const stream of launched.output) log.follow(stream);
  void launched.exited.then((error) => fail(error));

  let running: RunningGuest | undefined;
  const stop = async (): Promise<void> => {
    if (!over) {
      const ms = manifest.stopTimeoutMs ?? 5_000;
      const ended = await outcome(systemClock, running ? running.stop(ms).catch(() => []) : [], ms + EXIT_MS);
      const held = ended.kind === 'done' ? ended.value : ['its scope'];
      if (held.length > 0) log.write('error', { held }, `${level} ended with ${held.join(', ')} still held`);
    }
    over = true;
    peer.close(new CoreError('CANCELLED', { what: `plugin ${id}`, reason: 'it was stopped' }));
    await launched.kill();
    log.told();
  };
  let stopping: Promise<void> | undefined;
  const stopOnce = () => {
    stopping ??= stop();
    return stopping;
  };
  scope.defer(level, stopOnce);
  // The guest's scope begins to end when the host's does, not when everything else of it has.
  scope.signal.addEventListener('abort', () => void stopOnce(), { once: true });

  const source = host.capabilities as Partial<GrantSource>;
  if (!source.watch) throw new TypeError('this host does not tell its grants');
  const debug = () => (host.log as { isLevelEnabled?(level: string): boolean }).isLevelEnabled?.('debug') ?? true;
  const starting = peer.call<RunningGuest>(
    'start',
    { manifest, config: host.config, debug: debug(), steady: steadyOrigin() },
    services,
  );
  const watching = source.watch((caller, capabilities) => peer.notify('granted', caller, capabilities));
  scope.use('mirror of the grants', watching);
  running = await starting;
  started = true;
  scope.interval('heartbeat', limits.intervalMs, () => {
    watch.tick();
    peer.notify('ping' satisfies keyof GuestRoot, debug());
  });
}
