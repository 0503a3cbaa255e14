/** The contracts of plugin-api as the border of guests knows them: access and members, from the sources and not from what a plugin says. */
import type { Contract } from './contract.ts';
import { CONTRACTS } from './table.ts';

export { ACTORS, type Actor, FOR_APPS, sayingOf } from './acts.ts';
export type { Given } from './contract.ts';
export { handed } from './handed.ts';

/** Undefined for a contract of an author, which plugin-api does not know. */
export function contractOf(service: string): Contract | undefined {
  return Object.hasOwn(CONTRACTS, service) ? CONTRACTS[service] : undefined;
}

export function contractIds(): readonly string[] {
  return Object.keys(CONTRACTS);
}

/** Reasons of SERVICE_DENIED that the kernel and the store give alike, and the line where none grants it. */
export const NEVER = {
  tree: 'its access is tree: it is for plugins of the Core, never for one from outside',
  provide: 'it is a contract of the Core, and an installed plugin does not stand for the Core',
  hint: 'no line of a manifest',
} as const;

/** The risk of a powerful claim: the greatest one is 0, and is shown first. */
export function riskOf(service: string): number {
  const at = RISKS.indexOf(service);
  return at < 0 ? RISKS.length : at;
}

/** Order of claims: contracts that act on people stand before those that act on the device, then on its surroundings. */
const RISKS: readonly string[] = [
  ...['panel', 'audio', 'audio-device', 'echo-canceller', 'voice', 'prompts', 'inputs', 'renderers', 'display'],
  ...['apps', 'config', 'functions', 'intents', 'speech', 'network', 'endpoints', 'bridge', 'bridge-port'],
];
