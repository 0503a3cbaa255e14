/** Which connector, mode and crtc of a card are the panel. */
import type { Connector, DrmCard, Mode, Resources } from './card.ts';

export interface Wanted {
  /** Pixels; the mode that the display prefers, where neither is given. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Id of the kernel; the first that is connected, if absent. */
  readonly connector?: number | undefined;
}

export interface Choice {
  readonly connector: number;
  readonly crtc: number;
  readonly mode: Mode;
}

/** Rejects with the reason. */
export async function choose(card: DrmCard, wanted: Wanted): Promise<Choice> {
  const resources = await card.resources();
  if (resources.connectors.length === 0) throw new Error('the card has no connector');
  if (wanted.connector !== undefined && !resources.connectors.includes(wanted.connector))
    throw new Error(`the card has no connector ${wanted.connector}, but ${resources.connectors.join(' ')}`);
  for (const id of resources.connectors) {
    if (wanted.connector !== undefined && id !== wanted.connector) continue;
    const connector = await card.connector(id, true);
    if (!connector.connected || connector.modes.length === 0) continue;
    const mode = modeFor(connector.modes, wanted);
    return { connector: id, mode, crtc: await crtcFor(card, connector, resources) };
  }
  const which = wanted.connector === undefined ? 'any of its connectors' : `connector ${wanted.connector}`;
  throw new Error(`no display is plugged into ${which}`);
}

function modeFor(modes: readonly Mode[], { width, height }: Wanted): Mode {
  const fitting = modes.filter(
    (mode) => (width ?? mode.width) === mode.width && (height ?? mode.height) === mode.height,
  );
  const mode = fitting.find(({ preferred }) => preferred) ?? fitting[0];
  if (mode) return mode;
  const there = [...new Set(modes.map((one) => `${one.width} x ${one.height}`))];
  throw new Error(
    `the display has no mode of ${width ?? 'any'} x ${height ?? 'any'}, but ${there.slice(0, 8).join(', ')}`,
  );
}

/** The one that feeds it already, else any that can. */
async function crtcFor(card: DrmCard, connector: Connector, { crtcs }: Resources): Promise<number> {
  if (connector.encoder !== 0) {
    const { crtc } = await card.encoder(connector.encoder);
    if (crtc !== 0) return crtc;
  }
  for (const id of connector.encoders) {
    const { possibleCrtcs } = await card.encoder(id);
    const crtc = crtcs.find((_, index) => (possibleCrtcs & (1 << index)) !== 0);
    if (crtc !== undefined) return crtc;
  }
  throw new Error('nothing of the card can feed its connector');
}
