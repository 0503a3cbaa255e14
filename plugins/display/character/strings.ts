/** Words on the screen of a turn, by language. */
export interface Strings {
  readonly listening: string;
  readonly thinking: string;
  readonly youCanSay: string;
  readonly local: string;
  readonly cloud: string;
  readonly mute: string;
  readonly end: string;
  readonly character: string;
  /** Marks around words that were or can be said. */
  readonly quotes: readonly [string, string];
}

const STRINGS: Readonly<Record<string, Strings>> = {
  en: {
    listening: 'I’m listening',
    thinking: 'One moment',
    youCanSay: 'You can say',
    local: 'Stays on this device',
    cloud: 'Sent to the cloud',
    mute: 'Mute the microphone',
    end: 'End the conversation',
    character: 'The device',
    quotes: ['“', '”'],
  },
  de: {
    listening: 'Ich höre zu',
    thinking: 'Einen Moment',
    youCanSay: 'Sag zum Beispiel',
    local: 'Bleibt auf diesem Gerät',
    cloud: 'In die Cloud gesendet',
    mute: 'Mikrofon stumm schalten',
    end: 'Gespräch beenden',
    character: 'Das Gerät',
    quotes: ['„', '“'],
  },
  fr: {
    listening: 'Je vous écoute',
    thinking: 'Un instant',
    youCanSay: 'Vous pouvez dire',
    local: 'Reste sur cet appareil',
    cloud: 'Envoyé dans le cloud',
    mute: 'Couper le micro',
    end: 'Terminer la conversation',
    character: 'L’appareil',
    quotes: ['« ', ' »'],
  },
};

/** Strings for a BCP 47 tag; English where its language has none. */
export function stringsOf(locale: string): Strings {
  return STRINGS[locale.split('-')[0]!.toLowerCase()] ?? STRINGS.en!;
}

export const LANGUAGES: readonly string[] = Object.keys(STRINGS);
