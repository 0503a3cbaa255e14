/** View of a running simulator: the present value of each control, and the state of its lines and chips. */
import type { WireFaults } from './board.ts';
import type { Endpoint } from './endpoint.ts';
import type { Wire } from './wire.ts';

/** Classes of endpoints, by the number in their descriptor. */
const CLASSES: Readonly<Record<number, string>> = { 1: 'gpio', 2: 'i2c', 3: 'spi', 4: 'uart', 5: 'pio', 6: 'can' };

export interface Steered {
  readonly wire: Wire;
  readonly board: string;
  /** Values of the board, to which `heal` returns. */
  readonly whole: { readonly faults: WireFaults; readonly major: number; readonly slowMs: readonly number[] };
  readonly muted: boolean;
  readonly diesIn: number | undefined;
}

export function sightOf({ wire, board, muted, diesIn }: Steered): object {
  const { bridge, faults, silent, crashesIn } = wire;
  return {
    board,
    faults,
    silent,
    muted,
    crashesIn: crashesIn ?? null,
    diesIn: diesIn ?? null,
    major: bridge.responder.major,
    endpoints: bridge.endpoints.slice(1).map((endpoint) => endpointOf(wire, endpoint)),
  };
}

function endpointOf({ bridge }: Wire, { description, slowMs, there, settings }: Endpoint): object {
  const { label, class: number } = description;
  const { gpios, i2cs, cans } = bridge.blocks;
  return {
    label,
    class: CLASSES[number] ?? String(number),
    slowMs,
    there,
    ...(gpios.has(label) && { lines: gpios.get(label)!.view }),
    ...i2cs.get(label)?.view,
    ...(cans.has(label) && { broken: cans.get(label)!.broken }),
    ...(number === 4 && { line: settings }),
  };
}

/** No fault any more, wherever one was asked for; what there is to sense, and what drives the lines, stays. */
export function heal({ wire, whole }: Steered): void {
  const { bridge } = wire;
  wire.heal(whole.faults);
  bridge.responder.major = whole.major;
  for (const bus of bridge.blocks.i2cs.values()) bus.heal();
  for (const bus of bridge.blocks.cans.values()) if (bus.broken) bus.break(false);
  for (const [index, endpoint] of bridge.endpoints.entries()) {
    endpoint.slowMs = whole.slowMs[index] ?? 0;
    if (endpoint.there) continue;
    endpoint.there = true;
    bridge.announce(0x80, Uint8Array.of(endpoint.description.number, 1));
  }
}
