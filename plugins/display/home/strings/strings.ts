/** Every word that the device's own screens say, in one language. Dates and times come from bindings, and from Intl. */
export interface Strings {
  readonly home: string;
  readonly back: string;
  readonly quiet: string;
  readonly apps: { readonly title: string; readonly none: string };
  readonly notifications: { readonly title: string; readonly none: string; readonly clear: string };
  readonly timers: {
    readonly title: string;
    readonly none: string;
    readonly stop: string;
    readonly stopLabel: (length: string) => string;
    /** Words of an alarm. */
    readonly remove: string;
    readonly removeLabel: (alarm: string) => string;
    readonly daily: string;
  };
  /** A timer that rings. */
  readonly ring: {
    readonly title: string;
    readonly alarm: string;
    readonly reminder: string;
    readonly stop: string;
    readonly more: string;
    readonly moreLabel: string;
    readonly snooze: string;
    readonly snoozeLabel: string;
  };
  readonly settings: { readonly title: string };
  readonly network: {
    readonly title: string;
    readonly online: string;
    readonly offline: string;
    readonly none: string;
    readonly known: string;
    readonly open: string;
    readonly secured: string;
    readonly join: string;
    readonly joining: string;
    readonly forget: string;
    readonly forgetSays: string;
    readonly signal: string;
    /** Sentence with a command: the panel has no keyboard. */
    readonly passphraseSays: (command: string) => string;
    readonly enterpriseSays: string;
    readonly gone: string;
  };
  readonly sound: {
    readonly title: string;
    readonly volume: string;
    readonly louder: string;
    readonly quieter: string;
    readonly none: string;
  };
  readonly look: {
    readonly title: string;
    readonly brightness: string;
    readonly brighter: string;
    readonly darker: string;
    readonly text: string;
    readonly theme: string;
    readonly auto: string;
    readonly night: string;
    readonly day: string;
    readonly contrast: string;
    readonly motion: string;
    readonly motionSays: string;
    readonly off: string;
  };
  readonly privacy: {
    readonly title: string;
    readonly microphone: string;
    readonly microphoneOn: string;
    readonly microphoneOff: string;
    readonly local: string;
    readonly localSays: string;
    readonly left: string;
    readonly leftNone: string;
    readonly leftTo: (who: string, what: string) => string;
  };
  readonly about: {
    readonly title: string;
    readonly device: string;
    readonly software: string;
    readonly simulated: string;
    readonly started: string;
    readonly apps: string;
  };
  readonly problem: {
    readonly title: string;
    readonly offline: string;
    readonly offlineSays: string;
    readonly failed: (what: string) => string;
    readonly several: (count: number) => string;
    readonly failedSays: string;
    readonly settingSays: string;
    readonly appSays: string;
    readonly wifi: (ssid: string) => string;
    readonly wifiSays: string;
    readonly fellBack: string;
    readonly fellBackSays: string;
    readonly hide: string;
    readonly network: string;
  };
  readonly pairing: { readonly title: string; readonly says: string; readonly done: string; readonly label: string };
  readonly on: string;
  readonly off: string;
  /** Sentences by screen; templates of the intents plugin. */
  readonly said: {
    readonly notifications: readonly string[];
    readonly apps: readonly string[];
    readonly settings: readonly string[];
    readonly sound: readonly string[];
    readonly look: readonly string[];
    readonly privacy: readonly string[];
    readonly timers: readonly string[];
    readonly open: readonly string[];
  };
}
