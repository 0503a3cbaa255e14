/** Words of the panel for missed alarms, by language. The text of a reminder is in no event, so it is left out here. */
import type { MissedAlarm } from '@device-core/plugin-api/services/alarms';

type Words = Readonly<Record<'alarm' | 'reminder' | 'off', string>>;

const WORDS: Readonly<Record<string, Words>> = {
  en: {
    alarm: 'Missed alarm: {at}',
    reminder: 'Missed reminder: {at}',
    off: 'The device was off, or its clock was changed.',
  },
  de: {
    alarm: 'Verpasster Wecker: {at}',
    reminder: 'Verpasste Erinnerung: {at}',
    off: 'Das Gerät war aus, oder seine Uhr wurde gestellt.',
  },
  fr: {
    alarm: 'Alarme manquée : {at}',
    reminder: 'Rappel manqué : {at}',
    off: 'L’appareil était éteint, ou son heure a été réglée.',
  },
};

export function missedText({ kind, at, why }: MissedAlarm, locale: string, timeZone: string): string {
  const words = WORDS[locale.split('-')[0]!] ?? WORDS.en!;
  const time = new Intl.DateTimeFormat(locale, { weekday: 'short', hour: 'numeric', minute: '2-digit', timeZone });
  const said = words[kind].replace('{at}', time.format(at));
  return why === 'off' ? `${said}. ${words.off}` : said;
}
