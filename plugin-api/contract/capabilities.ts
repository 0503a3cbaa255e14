/** Capability ids, their catalogue and the one rule of implication (decisions D2). Pure: who holds what is the kernel's business. */

import { nearest } from '../kits/nearest.ts';
import { CoreError } from './errors.ts';

type Root =
  | 'display'
  | 'audio'
  | 'sensors'
  | 'bridges'
  | 'network'
  | 'storage-scoped'
  | 'functions'
  | 'events'
  | 'operations'
  | 'system';

/** `root[.area][:scope]`, for example `bridges.spi:flash`. */
export type CapabilityId = `${Root}${'' | `.${string}`}${'' | `:${string}`}`;

/** `normal` is granted at install, `sensitive` needs the SKU's allow-list or the operator, `oem` only what the SKU names. */
export type CapabilityClass = 'normal' | 'sensitive' | 'oem';

export interface CapabilityInfo {
  /** Root and area, without a scope. */
  readonly id: string;
  readonly summary: string;
  /** Class of the unscoped capability. */
  readonly class: CapabilityClass;
  /**
   * The noun of a scope, the class of a scoped grant, and its sentence with the name in the place of `{scope}`; absent
   * where no scope is allowed.
   */
  readonly scope?: { readonly names: string; readonly class: CapabilityClass; readonly allows: string };
}

const bus = (area: string, title: string): CapabilityInfo => ({
  id: `bridges.${area}`,
  summary: `use every ${title} handle`,
  class: 'oem',
  scope: { names: `${title} handle`, class: 'sensitive', allows: `use the ${title} device “{scope}”` },
});

const node = (root: Root): CapabilityInfo => ({
  id: `${root}.node`,
  summary: `open every device node of ${root}`,
  class: 'oem',
  scope: { names: 'device node', class: 'oem', allows: 'open the device node “{scope}”' },
});

/** Every capability that exists. docs/reference/capabilities.md is generated from it. */
export const CAPABILITIES: readonly CapabilityInfo[] = [
  { id: 'display', summary: 'do everything on the panel', class: 'sensitive' },
  { id: 'display.surface', summary: 'draw its own surface', class: 'normal' },
  { id: 'display.notify', summary: 'show toasts and banners', class: 'normal' },
  { id: 'display.keep', summary: 'keep the panel awake', class: 'sensitive' },
  { id: 'display.control', summary: 'dim and switch the panel', class: 'sensitive' },
  node('display'),
  { id: 'audio', summary: 'hear the microphone, play sound and be called by voice', class: 'sensitive' },
  { id: 'audio.capture', summary: 'hear the microphone', class: 'sensitive' },
  { id: 'audio.playback', summary: 'play sound', class: 'normal' },
  { id: 'audio.intent', summary: 'be called by voice', class: 'normal' },
  node('audio'),
  {
    id: 'sensors',
    summary: 'read every sensor',
    class: 'sensitive',
    scope: { names: 'sensor', class: 'normal', allows: 'read the sensor “{scope}”' },
  },
  { id: 'sensors.nfc', summary: 'read and write NFC tags', class: 'sensitive' },
  node('sensors'),
  { id: 'bridges', summary: 'use every bus of the IO bridge', class: 'oem' },
  bus('spi', 'SPI'),
  bus('i2c', 'I2C'),
  bus('gpio', 'GPIO'),
  bus('uart', 'UART'),
  bus('pio', 'PIO'),
  bus('can', 'CAN'),
  node('bridges'),
  { id: 'network', summary: 'use the network without limits', class: 'sensitive' },
  {
    id: 'network.outbound',
    summary: 'connect to any host',
    class: 'sensitive',
    // Traffic that leaves the house is asked once per host.
    scope: { names: 'host', class: 'sensitive', allows: 'connect to {scope}' },
  },
  { id: 'network.listen', summary: 'accept connections', class: 'sensitive' },
  { id: 'storage-scoped', summary: 'keep files in its own data directory', class: 'normal' },
  { id: 'functions', summary: 'use the functions of every app without limits', class: 'sensitive' },
  {
    id: 'functions.call',
    summary: 'call functions of every app',
    class: 'sensitive',
    scope: { names: 'app', class: 'normal', allows: 'call functions of the app {scope}' },
  },
  { id: 'events', summary: 'read and publish the events of every app', class: 'sensitive' },
  {
    id: 'events.read',
    summary: 'read the events of every app',
    class: 'sensitive',
    scope: { names: 'app', class: 'sensitive', allows: 'read the events of the app {scope}' },
  },
  { id: 'events.publish', summary: 'publish at every priority an app may use', class: 'sensitive' },
  { id: 'events.publish.high', summary: 'publish events of priority high', class: 'sensitive' },
  { id: 'operations.anonymous', summary: 'add operations for callers without identity', class: 'oem' },
  { id: 'operations.sensitive', summary: 'ask people to confirm its own acts, in its words', class: 'oem' },
  { id: 'system', summary: 'administer the device', class: 'oem' },
  { id: 'system.apps', summary: 'install, start and stop apps', class: 'oem' },
  { id: 'system.update', summary: 'update the Core', class: 'oem' },
  { id: 'system.power', summary: 'restart, switch off and reset the device', class: 'oem' },
  { id: 'system.network', summary: 'list and join networks', class: 'oem' },
  { id: 'system.backup', summary: 'copy the state of the device, and put it back', class: 'oem' },
  { id: 'updates.inhibit', summary: 'hold an update of the device back for a while', class: 'normal' },
  { id: 'system.config', summary: 'change device settings', class: 'oem' },
  { id: 'system.bridge', summary: 'look at and reset the IO bridge', class: 'oem' },
  { id: 'system.plugins', summary: 'manage plugins', class: 'oem' },
  { id: 'system.logs', summary: 'read logs and refusals', class: 'oem' },
  { id: 'system.voice', summary: 'listen, mute, and see turns of the voice and what left the device', class: 'oem' },
  { id: 'system.display', summary: 'arrange the panel', class: 'oem' },
  { id: 'system.secrets', summary: 'manage secrets of the device', class: 'oem' },
  { id: 'system.metrics', summary: 'read counters of the device', class: 'oem' },
  { id: 'system.telemetry', summary: 'decide what the device sends about itself', class: 'oem' },
  { id: 'system.outbox', summary: 'send what waits to leave at once, and throw it away', class: 'oem' },
  { id: 'system.log-levels', summary: 'change what is logged, and write the flight recorder down', class: 'oem' },
  { id: 'system.events', summary: 'see every event on the bus', class: 'oem' },
];

const CAPABILITY = /^(?<id>[a-z][a-z-]*(?:\.[a-z][a-z0-9_-]*)*)(?::(?<scope>[A-Za-z0-9][A-Za-z0-9._-]*))?$/;
/** `bridges.spi:<handle>`: any scope, as refusals name it. */
const PLACEHOLDER = /:<\w+>$/;
/** A port of a host, as refusals name it: the host was granted, this port was not. */
const PORT = /^(?<host>network\.outbound:[^:]+):(?<port>\d+)$/;
const NODE = /^\w+\.node(:|$)/;
const BY_ID = new Map(CAPABILITIES.map((info) => [info.id, info]));

/** The parts of a capability id, or undefined where it has not the form `root[.area][:scope]`. */
export function parseCapability(capability: string): { readonly id: string; readonly scope?: string } | undefined {
  const groups = CAPABILITY.exec(capability)?.groups;
  if (!groups?.id) return undefined;
  return groups.scope === undefined ? { id: groups.id } : { id: groups.id, scope: groups.scope };
}

/** Catalogue entry that governs a capability; `sensors.<name>` is governed by `sensors`. Undefined for an unknown one. */
export function describeCapability(capability: string): CapabilityInfo | undefined {
  const parsed = parseCapability(capability);
  if (!parsed) return undefined;
  const known = BY_ID.get(parsed.id);
  if (known) return parsed.scope === undefined || known.scope ? known : undefined;
  return /^sensors\.[^.]+$/.test(parsed.id) && parsed.scope === undefined ? BY_ID.get('sensors') : undefined;
}

/** Class that decides who may be granted this capability. */
export function classOf(named: string): CapabilityClass | undefined {
  const capability = named.replace(PLACEHOLDER, ':scope').replace(PORT, '$<host>');
  const info = describeCapability(capability);
  if (!info) return undefined;
  const scoped = parseCapability(capability)?.scope !== undefined || !BY_ID.has(capability);
  return scoped && info.scope ? info.scope.class : info.class;
}

/**
 * Does holding `grant` give `wanted`? A parent implies its children, device nodes only where it is of class oem itself;
 * an unscoped grant every scope.
 */
export function implies(grant: string, wanted: string): boolean {
  if (grant === wanted) return true;
  if (!wanted.startsWith(grant)) return false;
  const next = wanted[grant.length];
  if (next === '.' && NODE.test(wanted) && BY_ID.get(grant)?.class !== 'oem') return false;
  return (next === '.' || next === ':') && !grant.includes(':');
}

/** Is `grant` the capability itself, a parent of it, or any scope of it? Answers "may this caller use the family at all". */
export function touches(grant: string, family: string): boolean {
  return implies(grant, family) || grant.startsWith(`${family}:`);
}

/** The nearest known id for a message, by edit distance; undefined when nothing is near. */
export function suggestCapability(capability: string): string | undefined {
  return nearest(
    parseCapability(capability)?.id ?? capability,
    CAPABILITIES.map(({ id }) => id),
  );
}

/** CAPABILITY_UNKNOWN, with the nearest known id where one is near. */
export function unknownCapability(capability: string): CoreError {
  const near = suggestCapability(capability);
  return new CoreError('CAPABILITY_UNKNOWN', { capability, suggestion: near ? `; did you mean ${near}?` : '' });
}

/**
 * The manifest lines that would grant a capability to an app (`app`), or to a plugin (`plugin`): what refusals and
 * `devicectl why` show.
 */
export function grantHint(subject: { readonly kind: string; readonly id: string }, capability: string): string {
  if (subject.kind === 'plugin') return `capabilities: [${capability}]`;
  if (subject.kind !== 'app') return 'call with the token of an app or of the operator';
  const { host, port } = PORT.exec(capability)?.groups ?? {};
  if (host !== undefined) return `ports: [${port}] beside id: ${host} in app.yaml`;
  const line = `capabilities: [{ id: ${capability}, reason: ... }] in app.yaml`;
  if (classOf(capability) === 'normal') return line;
  return `${line} and grants: { ${subject.id}: ["${capability}"] } in the SKU`;
}
