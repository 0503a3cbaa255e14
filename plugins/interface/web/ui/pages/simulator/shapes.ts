/** Items of `sim.watch`, as far as the page shows them. */
import type {
  BridgeView,
  SimulatedEndpoint,
  SimulatedLine,
} from '@device-core/plugin-api/inside/services/bridge-simulator';
import type { NetworkState } from '@device-core/plugin-api/services/network';
import type { PowerState } from '@device-core/plugin-api/services/power';
import { numberText } from '../../core/format.ts';
import { text } from './text.ts';

export type Bridge = BridgeView;
export type Endpoint = SimulatedEndpoint;
export type Line = SimulatedLine;
export interface Stage {
  readonly recording?: { readonly name: string; readonly steps: number; readonly full: boolean };
  readonly playing?: { readonly name: string; readonly step: number; readonly of: number };
  readonly last?: {
    readonly name: string;
    readonly result: 'done' | 'failed' | 'stopped';
    readonly at: number;
    readonly reason?: string;
  };
}
export type Network = Partial<NetworkState> & Pick<NetworkState, 'state'>;
export type Power = Partial<PowerState> & Pick<PowerState, 'source'>;
export interface State {
  readonly bridge?: Bridge;
  readonly network?: Network;
  readonly power?: Power;
  readonly panel: { readonly plugged: boolean };
  readonly scenario: Stage;
}

const KNOWN_MAJOR = 1;
export const NOISE = [0, 0.000001, 0.00001, 0.0001, 0.001, 0.01] as const;
export const noiseText = (rate: number): string =>
  rate === 0 ? text('noiseNone') : text('noiseBits', { n: numberText(Math.round(1 / rate), 0) });

/** Every fault that there is now, in words. */
export function faultsOf({ bridge, panel }: State): readonly string[] {
  const found: string[] = panel.plugged ? [] : [text('noScreen')];
  if (bridge === undefined) return found;
  const { bitErrorRate = 0, seed: _, ...others } = bridge.faults;
  if (bitErrorRate > 0 || Object.values(others).some((share) => share > 0))
    found.push(`${text('noise')}: ${noiseText(bitErrorRate)}`);
  if (bridge.silent) found.push(text('silence'));
  if (bridge.muted) found.push(text('mute'));
  if (bridge.crashesIn !== null) found.push(text('crashing'));
  if (bridge.diesIn !== null) found.push(text('dying'));
  if (bridge.major !== KNOWN_MAJOR) found.push(text('majorOf', { n: bridge.major }));
  for (const { label, slowMs, there, stuck, broken, chips = [] } of bridge.endpoints) {
    if (slowMs > 0) found.push(text('slowOf', { name: label }));
    if (!there) found.push(text('endpointGone', { name: label }));
    if (stuck === null || (stuck ?? 0) > 0) found.push(text('stuck', { name: label }));
    if (broken) found.push(text('short', { name: label }));
    for (const { kind, there: inPlace } of chips)
      if (!inPlace) found.push(text('chipGone', { kind: kind.toUpperCase(), bus: label }));
  }
  return found;
}
