/** Numbers of linux/input-event-codes.h. */
export const EV = { syn: 0, key: 1, rel: 2, abs: 3 } as const;
export const SYN = { report: 0, dropped: 3 } as const;
export const ABS = { x: 0, y: 1, slot: 0x2f, mtX: 0x35, mtY: 0x36, trackingId: 0x39 } as const;
export const BTN = { left: 0x110, touch: 0x14a } as const;
export const KEY_MOST = 0x2ff;

/** Knobs and wheels. */
export const KNOBS = { REL_HWHEEL: 6, REL_DIAL: 7, REL_WHEEL: 8 } as const;

/** Keys that devices have; any other by its number. */
const KEYS: Readonly<Record<string, number>> = {
  KEY_ESC: 1,
  KEY_1: 2,
  KEY_2: 3,
  KEY_3: 4,
  KEY_4: 5,
  KEY_5: 6,
  KEY_6: 7,
  KEY_7: 8,
  KEY_8: 9,
  KEY_9: 10,
  KEY_0: 11,
  KEY_ENTER: 28,
  KEY_SPACE: 57,
  KEY_TAB: 15,
  KEY_BACKSPACE: 14,
  KEY_UP: 103,
  KEY_DOWN: 108,
  KEY_LEFT: 105,
  KEY_RIGHT: 106,
  KEY_PAGEUP: 104,
  KEY_PAGEDOWN: 109,
  KEY_HOME: 102,
  KEY_END: 107,
  KEY_DELETE: 111,
  KEY_LEFTSHIFT: 42,
  KEY_LEFTCTRL: 29,
  KEY_LEFTALT: 56,
  KEY_MUTE: 113,
  KEY_VOLUMEDOWN: 114,
  KEY_VOLUMEUP: 115,
  KEY_POWER: 116,
  KEY_SLEEP: 142,
  KEY_WAKEUP: 143,
  KEY_STOP: 128,
  KEY_MENU: 139,
  KEY_BACK: 158,
  KEY_FORWARD: 159,
  KEY_PLAYPAUSE: 164,
  KEY_PLAY: 207,
  KEY_PAUSE: 119,
  KEY_PREVIOUSSONG: 165,
  KEY_NEXTSONG: 163,
  KEY_RECORD: 167,
  KEY_STOPCD: 166,
  KEY_REWIND: 168,
  KEY_FASTFORWARD: 208,
  KEY_HOMEPAGE: 172,
  KEY_REFRESH: 173,
  KEY_CAMERA: 212,
  KEY_SEARCH: 217,
  KEY_PHONE: 169,
  KEY_BRIGHTNESSDOWN: 224,
  KEY_BRIGHTNESSUP: 225,
  KEY_MICMUTE: 248,
  KEY_VOICECOMMAND: 582,
  KEY_ASSISTANT: 583,
  KEY_SELECT: 353,
  KEY_OK: 352,
  KEY_INFO: 358,
  KEY_OPTION: 357,
  KEY_PROG1: 148,
  KEY_PROG2: 149,
  KEY_PROG3: 202,
  KEY_PROG4: 203,
  KEY_HELP: 138,
  KEY_CONFIG: 171,
  KEY_F1: 59,
  KEY_F2: 60,
  KEY_F3: 61,
  KEY_F4: 62,
  KEY_F5: 63,
  KEY_F6: 64,
  KEY_F7: 65,
  KEY_F8: 66,
  KEY_F9: 67,
  KEY_F10: 68,
  KEY_F11: 87,
  KEY_F12: 88,
  BTN_0: 256,
  BTN_1: 257,
  BTN_2: 258,
  BTN_3: 259,
  BTN_LEFT: 272,
  BTN_RIGHT: 273,
  BTN_MIDDLE: 274,
  BTN_SIDE: 275,
  BTN_EXTRA: 276,
};

/** `KEY_MUTE` or `113`. Undefined for a name that is not known. */
export function keyCode(name: string): number | undefined {
  if (!/^\d{1,3}$/.test(name)) return KEYS[name];
  return Number(name) <= KEY_MOST ? Number(name) : undefined;
}

export const KEY_NAMES: readonly string[] = Object.keys(KEYS);
