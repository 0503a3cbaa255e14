/** Lights and dims the panel: by presence, by acts, by the hour, by the light of the room, and on request. */
import { CoreError, type Logger, type Scope } from '@device-core/plugin-api';
import { PANEL_POWER, type PanelPower } from '@device-core/plugin-api/services/display';
import type { Light, LightSeam, SurroundingsSeam } from '../seams.ts';
import { Idle, type IdleSettings, type Presence } from './idle.ts';
import { LEVELS, levelOf } from './level.ts';
import { Ramp } from './ramp.ts';

/** Milliseconds from level to level. Light comes at once, it goes slowly. */
const WAKE_MS = 160;
const DIM_MS = 800;
const OFF_MS = 400;
const SET_MS = 240;
const STEP_MS = 40;
/** A panel that is dimmed by painting repaints everything with each step. */
const PAINTED_STEP_MS = 100;
/** Share by which the light of the room must change. */
const LUX_NOTICED = 0.2;
/** Milliseconds after which the last black frame of such a panel is surely on the glass. */
const LAST_FRAME_MS = 200;

export interface PanelLightOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly seam: LightSeam & Pick<SurroundingsSeam, 'change'>;
  readonly idle: IdleSettings;
  /** Level 0..1 before a person sets one. */
  readonly brightness: number;
  /** It is kept, so that it is the same after a restart. */
  readonly keep?: (level: number) => Promise<void>;
  /** It was lit or went dark. */
  readonly changed?: (power: PanelPower) => void;
}

export class PanelLight implements Light {
  readonly #options: PanelLightOptions;
  readonly #idle: Idle;
  readonly #ramp: Ramp;
  #set: number;
  #lux: number | undefined;
  #night: number | undefined;
  #power: PanelPower = 'on';
  #timer: Disposable | undefined;
  /** Counts the changes of power: what was begun for an older one is given up. */
  #turn = 0;
  #dark = false;
  /** One after the other, else the last might come first. */
  #switching: Promise<unknown> = Promise.resolve();

  constructor(options: PanelLightOptions) {
    const { scope, seam, brightness, idle } = options;
    this.#options = options;
    this.#set = brightness;
    this.#idle = new Idle(idle, scope.clock.monotonic());
    const apply = (level: number) => this.#apply(level);
    this.#ramp = new Ramp(levelOf({ power: 'on', set: brightness }), {
      scope,
      apply,
      stepMs: () => (seam.panel?.brightness === false ? PAINTED_STEP_MS : STEP_MS),
    });
    scope.use(
      'panel that comes',
      seam.onPanel(() => this.#restore()),
    );
    seam.tell({ power: 'on', brightness });
    this.#ramp.again();
    void this.#look();
  }

  /** Nothing is seen. */
  get dark(): boolean {
    return this.#power === 'off';
  }

  /** Throws PARAMS_INVALID. */
  async power(power: PanelPower): Promise<void> {
    if (!PANEL_POWER.includes(power)) {
      const reason = `${power} is none of ${PANEL_POWER.join(', ')}`;
      throw new CoreError('PARAMS_INVALID', { where: 'power', reason });
    }
    this.#idle.ask(power, this.#now);
    void this.#look();
  }

  /** Answers with what became of it. Throws PARAMS_INVALID, and what keeping it throws. */
  async brightness(level: number): Promise<number> {
    if (!(level >= 0 && level <= 1))
      throw new CoreError('PARAMS_INVALID', { where: 'level', reason: 'it is not from 0 to 1' });
    this.set(level);
    await this.#options.keep?.(this.#set);
    return this.#set;
  }

  async wake(reason: string): Promise<void> {
    if (this.#power !== 'on') this.#options.log.debug({ reason }, `the panel is lit: ${reason}`);
    this.touched();
  }

  /** From the settings of the device: as brightness(), and not kept once more. */
  set(level: number): void {
    this.#set = Math.max(LEVELS.least, level);
    this.#options.seam.tell({ brightness: this.#set });
    void this.#shine(SET_MS);
  }

  /** Other times of rest. */
  idleAfter(settings: IdleSettings): void {
    this.#idle.use(settings);
    void this.#look();
  }

  touched(): void {
    this.#idle.act(this.#now);
    void this.#look();
  }

  presence(presence: Presence): void {
    this.#idle.presence(presence, this.#now);
    void this.#look();
  }

  hold(name: string, held: boolean): void {
    this.#idle.hold(name, held, this.#now);
    void this.#look();
  }

  /** Small changes of the room's light are ignored: a cloud is no evening. */
  lux(lux: number | undefined): void {
    if (lux !== undefined && this.#lux !== undefined && Math.abs(lux - this.#lux) <= this.#lux * LUX_NOTICED) return;
    this.#lux = lux;
    void this.#shine(DIM_MS);
  }

  /** Brightness of the night, while it is night. */
  night(most: number | undefined): void {
    this.#night = most;
    void this.#shine(DIM_MS);
  }

  get #now(): number {
    return this.#options.scope.clock.monotonic();
  }

  /** Puts into effect what should be now, and arms the one timer for what comes by itself. */
  async #look(): Promise<void> {
    const { scope, seam, changed } = this.#options;
    const power = this.#idle.at(this.#now);
    const next = this.#idle.next(this.#now);
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (Number.isFinite(next) && !scope.signal.aborted)
      this.#timer = scope.timeout('panel without anybody', Math.max(0, next - this.#now), () => this.#look());
    if (power === this.#power) return;
    const before = this.#power;
    this.#power = power;
    const turn = ++this.#turn;
    seam.tell({ power });
    changed?.(power);
    if (power === 'off') return this.#darken(turn);
    if (before === 'off' && this.#dark) await this.#lighten();
    await this.#shine(power === 'on' ? WAKE_MS : DIM_MS);
  }

  async #darken(turn: number): Promise<void> {
    const { scope, seam } = this.#options;
    await this.#ramp.go(0, OFF_MS);
    if (turn !== this.#turn) return;
    const painted = seam.panel?.brightness === false && !seam.panel.power;
    if (painted) await scope.clock.sleep(LAST_FRAME_MS, scope.signal).catch(() => undefined);
    if (turn !== this.#turn) return;
    this.#dark = true;
    seam.paused(true);
    await this.#switch();
  }

  async #lighten(): Promise<void> {
    const { seam } = this.#options;
    this.#dark = false;
    await this.#switch();
    seam.paused(false);
  }

  #shine(ms: number): Promise<void> {
    if (this.#power === 'off') return Promise.resolve();
    const level = levelOf({ power: this.#power, set: this.#set, lux: this.#lux, night: this.#night });
    return level === this.#ramp.level ? Promise.resolve() : this.#ramp.go(level, ms);
  }

  async #apply(level: number): Promise<void> {
    const { seam } = this.#options;
    // A panel that cannot be dimmed is painted darker.
    const done = await seam.panelBrightness(level);
    seam.change({ light: done || !seam.panel ? 1 : level });
  }

  /** Another panel, or the same anew: it knows nothing of before. */
  #restore(): void {
    void this.#switch();
    this.#ramp.again();
  }

  #switch(): Promise<unknown> {
    this.#switching = this.#switching.then(() => this.#options.seam.panelPower(!this.#dark));
    return this.#switching;
  }
}
