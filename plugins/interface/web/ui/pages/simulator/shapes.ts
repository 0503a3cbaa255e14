/** Items of `sim.watch`, as far as the page shows them. */
import { numberText } from '../../core/format.ts';
import { text } from './text.ts';

export interface Line {
  readonly direction: 'in' | 'out' | 'open-drain';
  readonly level: 0 | 1;
  readonly outside: 0 | 1 | null;
}
export interface Chip {
  readonly address: number;
  readonly kind: string;
  readonly there: boolean;
  readonly senses?: Readonly<Record<string, unknown>>;
}
export interface Endpoint {
  readonly label: string;
  readonly class: string;
  readonly slowMs: number;
  readonly there: boolean;
  readonly lines?: readonly Line[];
  readonly chips?: readonly Chip[];
  readonly stuck?: number | null;
  readonly broken?: boolean;
}
export interface Bridge {
  readonly board: string;
  readonly faults: Readonly<Record<string, number>>;
  readonly silent: boolean;
  readonly muted: boolean;
  readonly crashesIn: number | null;
  readonly diesIn: number | null;
  readonly major: number;
  readonly endpoints: readonly Endpoint[];
}
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
export interface Network {
  readonly state: 'online' | 'local' | 'offline';
  readonly type?: string;
  readonly metered?: boolean;
}
export interface Power {
  readonly source: 'mains' | 'battery';
  readonly level?: number;
  readonly state?: string;
}
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
