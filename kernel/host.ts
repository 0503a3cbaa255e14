import { dirname } from 'node:path';
import {
  type Clock,
  CoreError,
  type EventEnvelope,
  matchesTopic,
  type PluginHost,
  type Scope,
  type ServiceRef,
} from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { EventBusCore } from './bus/event-bus.ts';
import type { CapabilityChecker } from './capabilities.ts';
import type { HookRegistry } from './hooks.ts';
import { Border } from './isolation/border.ts';
import type { KernelLog } from './kernel-log.ts';
import type { PluginEntry } from './resolved.ts';
import { PluginScope } from './scope.ts';
import type { ServiceRegistry } from './services.ts';
import type { PluginMeter } from './usage/usage.ts';
import type { Watch } from './usage/watch.ts';
import { hiddenFrom } from './walls/outside.ts';

/** The parts of the kernel that plugins reach. */
export interface KernelParts {
  readonly services: ServiceRegistry;
  readonly hooks: HookRegistry;
  readonly bus: EventBusCore;
  readonly capabilities: CapabilityChecker;
  readonly log: KernelLog;
  readonly watch: Watch;
  readonly clock: Clock;
  readonly paths: DeviceInfo['paths'];
}

/** One start of one plugin: a restart makes a new one, and what the old one still calls meets its closed scope. */
export class PluginRun {
  readonly scope: PluginScope;
  readonly meter: PluginMeter;
  readonly host: PluginHost;
  /** Services that setup() provided so far; they are hidden before the plugin is ready. */
  readonly provided = new Map<string, object>();
  /** First runs of when(): part of the start. */
  readonly whens: Promise<void>[] = [];
  readonly border: Border;
  configure: ((config: object) => void) | undefined; // of live members

  constructor(entry: PluginEntry, parts: KernelParts) {
    const { id, manifest } = entry;
    const log = parts.log.child({ plugin: id });
    const meter = parts.watch.usage.of(id);
    meter.limit(entry.budget);
    meter.outside = !entry.tree;
    meter.installed = entry.installed === true;
    meter.guest = {};
    meter.folder = entry.isolation === 'inline' ? dirname(entry.main) : undefined;
    const scope = new PluginScope(id, log, { meter, clock: parts.clock });
    const declared = (section: Readonly<Record<string, string>> | undefined, ref: ServiceRef<unknown>): string => {
      const version = section?.[ref.id];
      if (version === undefined) throw new CoreError('SERVICE_UNDECLARED', { plugin: id, service: ref.id });
      return version;
    };
    const border = Border.of(entry, parts);
    this.border = border;
    const hidden = hiddenFrom(entry, parts.capabilities);
    const mayPublish = new Set<string>();
    this.scope = scope;
    this.meter = meter;
    scope.signal.addEventListener('abort', () => void Object.assign(meter, { guest: {} }), { once: true });
    this.host = Object.freeze<PluginHost>({
      id,
      scope,
      clock: scope.clock,
      config: entry.config,
      log,
      capabilities: parts.capabilities,
      bus: {
        publish(topic, payload, priority = 'normal') {
          const { publishes = [] } = manifest;
          if (!mayPublish.has(topic)) {
            if (!publishes.some((filter) => matchesTopic(filter, topic))) {
              const allowed = publishes.join(', ') || 'nothing';
              throw new CoreError('TOPIC_DENIED', { caller: `plugin.${id}`, topic, allowed });
            }
            if (mayPublish.size >= 256) mayPublish.clear();
            mayPublish.add(topic);
          }
          parts.bus.publish({ topic, payload, priority, source: 'core', via: id });
        },
        subscribe(filter, fn, options) {
          const failed = (err: unknown, { topic }: EventEnvelope) => {
            meter.failed('event');
            log.error({ err, topic }, 'event handler failed');
          };
          const subscription = parts.bus.subscribe(
            filter,
            (event) => {
              if (hidden(event)) return undefined;
              const mark = meter.enterNext();
              try {
                return fn(event)?.catch((err) => failed(err, event));
              } catch (err) {
                failed(err, event);
              } finally {
                meter.leave('event', mark);
              }
            },
            options,
          );
          const held = scope.hold(`subscription ${filter}`, () => subscription[Symbol.dispose]());
          return { ...subscription, ...held };
        },
      },
      provide: (ref, implementation) => {
        border.provide(ref.id);
        declared(manifest.provides, ref);
        const other = this.provided.has(ref.id) ? id : parts.services.provider(ref.id)?.plugin;
        if (other) throw new CoreError('SERVICE_ALREADY_PROVIDED', { service: ref.id, plugin: other });
        scope.defer(`service ${ref.id}`, () => void this.provided.delete(ref.id));
        this.provided.set(ref.id, implementation);
      },
      when: (ref, use) => {
        border.use(ref.id);
        const range = declared(manifest.optional, ref);
        const guarded = (service: object, part: Scope) => use(border.entered(ref.id, service) as never, part);
        this.whens.push(parts.services.watch({ id: ref.id, range, scope, user: meter, use: guarded }));
      },
      tap(hook, fn, order) {
        if (!manifest.taps?.includes(hook)) throw new CoreError('HOOK_UNDECLARED', { plugin: id, hook });
        scope.defer(`tap ${hook}`, parts.hooks.tap(hook, id, border.tapped(hook, fn), order?.stage ?? 0));
      },
      hook(hook) {
        if (!manifest.hooks?.includes(hook)) throw new CoreError('HOOK_UNDECLARED', { plugin: id, hook });
        return parts.hooks.caller(hook);
      },
    });
  }
}
