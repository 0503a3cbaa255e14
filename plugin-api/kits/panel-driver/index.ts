/** For drivers of panels: a panel over hardware that comes and goes, and the light behind it. */
export { Backlight, type BacklightOptions } from './backlight.ts';
export { DrivenPanel, type DriverOptions, type PanelHardware } from './driven-panel.ts';
