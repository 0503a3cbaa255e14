/** Search entries about voice. */
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { words } from './text.ts';

export async function entries(): Promise<readonly Entry[]> {
  const question = (title: string, note: string, rest: readonly string[], more: string): Entry => ({
    kind: 'question',
    title,
    note,
    icon: 'voice',
    href: link('voice', rest),
    words: [more],
  });
  return [
    question(
      words('askLeft'),
      words('askLeftNote'),
      ['departures'],
      'privacy ledger cloud sent datenschutz gesendet vie privée envoyé',
    ),
    question(words('askSlow'), words('askSlowNote'), [], 'latency slow waterfall turn langsam latenz lent latence'),
    question(
      words('askSay'),
      words('askSayNote'),
      ['sentences'],
      'intents sentences commands utterances sätze befehle phrases',
    ),
    question(
      words('askTalk'),
      words('askTalkNote'),
      [],
      'microphone push to talk mute volume mikrofon stumm lautstärke micro muet',
    ),
  ];
}
