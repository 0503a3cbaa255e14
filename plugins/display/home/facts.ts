/** Facts for the screens: gathered from services, as data, so that a screen is a function of them. */

import type { DepartureLine } from '@device-core/plugin-api/inside/services/ledger';
import type { Alarm, RingingAlarm } from '@device-core/plugin-api/services/alarms';
import type { AudioState } from '@device-core/plugin-api/services/audio';
import type { DisplayState, Notification } from '@device-core/plugin-api/services/display';
import type { WifiNetwork } from '@device-core/plugin-api/services/network';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import type { Timer } from '@device-core/plugin-api/services/timers';

export interface Opened {
  readonly id: string;
  readonly title: string;
  /** Name of an image, where the app has one that can be shown. */
  readonly icon?: string;
  readonly running: boolean;
}

/** Problem with a remedy that a person can apply. */
export interface Problem {
  readonly kind: 'offline' | 'failed' | 'setting' | 'app' | 'wifi' | 'fellBack';
  /** Code of the table of errors, or a state: `failed`. */
  readonly code: string;
  /** Plugins, an app or a setting. */
  readonly what?: string;
  /** How many plugins, where it is more than one. */
  readonly count?: number;
}

export interface Facts {
  /** Newest first, without those that were dismissed. */
  readonly notifications: readonly Notification[];
  readonly apps: readonly Opened[];
  /** Soonest first. */
  readonly timers: readonly Timer[];
  /** Timers whose alarm sounds. */
  readonly ringing: readonly Timer[];
  /** Those that are on, soonest first. */
  readonly alarms: readonly Alarm[];
  readonly ringingAlarms: readonly RingingAlarm[];
  readonly audio?: AudioState;
  readonly display?: DisplayState;
  /** Addresses by the name of their interface; empty: no network. */
  readonly addresses: readonly { readonly name: string; readonly address: string }[];
  /** Networks in reach, the strongest first; absent where no service answers, or changes are not allowed here. */
  readonly wifi?: readonly WifiNetwork[];
  /** Name of the one that is looked at, and what is being done with it. */
  readonly chosen?: { readonly ssid: string; readonly busy?: boolean };
  /** Newest first. */
  readonly departures: readonly DepartureLine[];
  readonly microphone: 'on' | 'off' | 'none';
  /** Undefined: there is no such setting on this device. */
  readonly localOnly?: boolean;
  /** As it was chosen: `auto` follows the hours. */
  readonly theme?: string;
  readonly device: {
    readonly title: string;
    readonly version: string;
    readonly simulated: boolean;
    readonly startedAt: number;
  };
  /** A fault, as long as it lasts. */
  readonly problem?: Problem;
  /** A touch that failed: seen once, and over when the person has left it. */
  readonly mishap?: Problem;
  readonly pairing?: { readonly url: string; readonly until: number };
}

/** Input of the drawing of a screen. */
export interface Drawing {
  readonly facts: Facts;
  readonly surroundings: Surroundings;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Page of a screen with more than fits. */
  readonly page: number;
}
