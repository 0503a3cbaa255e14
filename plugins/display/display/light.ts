/** Power and brightness as they are asked for. `power/` decides when it asks by itself. */
import { CoreError, PANEL_POWER, type PanelPower } from '@device-core/plugin-api';
import type { Light, LightSeam } from './seams.ts';

/** Of the brightness that was set, while it is dimmed. */
const DIMMED = 0.3;

export class PlainLight implements Light {
  readonly #seam: LightSeam;

  constructor(seam: LightSeam) {
    this.#seam = seam;
    seam.onPanel(() => void this.#show().catch(() => undefined));
  }

  /** Throws PARAMS_INVALID. */
  async power(power: PanelPower): Promise<void> {
    if (!PANEL_POWER.includes(power))
      throw new CoreError('PARAMS_INVALID', {
        where: 'power',
        reason: `${power} is none of ${PANEL_POWER.join(', ')}`,
      });
    this.#seam.tell({ power });
    await this.#show();
  }

  async brightness(level: number): Promise<void> {
    if (!(level >= 0 && level <= 1))
      throw new CoreError('PARAMS_INVALID', { where: 'brightness', reason: 'it is not from 0 to 1' });
    this.#seam.tell({ brightness: level });
    await this.#show();
  }

  async wake(_reason: string): Promise<void> {
    if (this.#seam.state.power !== 'on') await this.power('on');
  }

  async #show(): Promise<void> {
    const { power, brightness } = this.#seam.state;
    this.#seam.paused(power === 'off');
    await this.#seam.panelPower(power !== 'off');
    await this.#seam.panelBrightness(power === 'dim' ? brightness * DIMMED : brightness);
  }
}
