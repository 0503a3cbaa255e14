/** What the screen of a turn says, by language. */
export interface Strings {
  readonly listening: string;
  readonly thinking: string;
  readonly youCanSay: string;
  readonly local: string;
  readonly cloud: string;
  readonly mute: string;
  readonly end: string;
  readonly character: string;
}

const STRINGS: Readonly<Record<string, Strings>> = {
  en: {
    listening: 'I’m listening',
    thinking: 'One moment',
    youCanSay: 'You can say',
    local: 'Stayed on this device',
    cloud: 'Sent to the cloud',
    mute: 'Mute the microphone',
    end: 'End the conversation',
    character: 'The device',
  },
  de: {
    listening: 'Ich höre zu',
    thinking: 'Einen Moment',
    youCanSay: 'Sag zum Beispiel',
    local: 'Blieb auf diesem Gerät',
    cloud: 'In die Cloud gesendet',
    mute: 'Mikrofon stumm schalten',
    end: 'Gespräch beenden',
    character: 'Das Gerät',
  },
  fr: {
    listening: 'Je vous écoute',
    thinking: 'Un instant',
    youCanSay: 'Vous pouvez dire',
    local: 'Resté sur cet appareil',
    cloud: 'Envoyé dans le cloud',
    mute: 'Couper le micro',
    end: 'Terminer la conversation',
    character: 'L’appareil',
  },
};

/** Of a BCP 47 tag; English where there is none of its language. */
export function stringsOf(locale: string): Strings {
  return STRINGS[locale.split('-')[0]!.toLowerCase()] ?? STRINGS.en!;
}

export const LANGUAGES: readonly string[] = Object.keys(STRINGS);
