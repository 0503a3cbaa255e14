/** The few words that cards have of their own, by language. */
export interface CardWords {
  readonly play: string;
  readonly pause: string;
  readonly next: string;
  readonly previous: string;
  readonly further: string;
  readonly back: string;
  readonly working: string;
}

const WORDS: Readonly<Record<string, CardWords>> = {
  en: {
    play: 'Play',
    pause: 'Pause',
    next: 'Next',
    previous: 'Previous',
    further: 'Further down',
    back: 'Further up',
    working: 'Working',
  },
  de: {
    play: 'Abspielen',
    pause: 'Anhalten',
    next: 'Weiter',
    previous: 'Zurück',
    further: 'Weiter unten',
    back: 'Weiter oben',
    working: 'Arbeitet',
  },
  fr: {
    play: 'Lecture',
    pause: 'Pause',
    next: 'Suivant',
    previous: 'Précédent',
    further: 'Plus bas',
    back: 'Plus haut',
    working: 'En cours',
  },
};

/** English where the language has no words here. */
export function cardWords(locale: string): CardWords {
  return WORDS[locale.toLowerCase().split(/[-_]/)[0] ?? ''] ?? (WORDS.en as CardWords);
}
