import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { go, link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { Tabs } from '../../parts/dialog.ts';
import { Answer, Badge, Card, Facts, Head } from '../../parts/frame.ts';
import { Departures } from './departures.ts';
import { Ears, Engines } from './engines.ts';
import { Sentences } from './sentences.ts';
import { type AudioNow, type Envelope, TOPICS, type Turn, type VoiceNow } from './shapes.ts';
import { TalkCard } from './talk-card.ts';
import { words } from './text.ts';
import { TurnCard, TurnList } from './turn.ts';

const TABS = ['talk', 'departures', 'sentences', 'engines'] as const;
type Tab = (typeof TABS)[number];
const isTab = (value: string | undefined): value is Tab => TABS.includes(value as Tab);

sheet('pages/voice/voice.css');

export function Page({ rest: [first], query }: PageProps) {
  const tab = isTab(first) ? first : 'talk';
  const tabs = TABS.map(
    (one) => [link('voice', one === 'talk' ? [] : [one]), words(`tab-${one}`), one === tab] as const,
  );
  return html`<${Head} title=${words('title')} lead=${words('lead')} /><${Tabs} label=${words('title')} tabs=${tabs} />${tab === 'talk' && html`<${TalkTab} chosen=${query.get('turn')} />`}${tab === 'departures' && html`<${Departures} />`}${tab === 'sentences' && html`<${Sentences} />`}${tab === 'engines' && html`<${Engines} />`}`;
}

function TalkTab({ chosen }: { chosen: string | null }) {
  const voice = useAsk<VoiceNow>('/voice');
  const turns = useAsk<{ turns: readonly Turn[] }>('/voice/turns', { limit: 20 });
  const audio = useAsk<AudioNow>('/audio');
  // A viewer may not read settings; the phrase is left out then.
  const wake = useAsk<{ keys: readonly { readonly value?: readonly { readonly phrase: string }[] }[] }>(
    '/config-descriptions',
    { plugin: 'voice', prefix: 'plugins.voice.wake' },
  );
  const phrases = wake.data?.keys[0]?.value?.map(({ phrase }) => `“${phrase}”`) ?? [];
  const [partial, setPartial] = useState('');
  const [compare, setCompare] = useState('');
  useEvents(
    TOPICS,
    (items) => {
      const events = items.map(({ data }) => data as Envelope);
      const said = events.findLast(({ topic }) => topic.startsWith('audio.stt.'))?.payload;
      if (said !== undefined) setPartial(String(said.text ?? ''));
      if (events.some(({ topic }) => topic === 'audio.wake')) setPartial('');
      if (events.length === 0 || events.some(({ topic }) => !topic.startsWith('audio.stt.'))) {
        voice.reload();
        turns.reload();
        audio.reload();
      }
    },
    250,
  );
  const list = turns.data?.turns ?? [];
  const shown = list.find(({ turn }) => turn === chosen) ?? list[0];
  const now = voice.data;
  return html`<div class="columns voice"><div class="stack"><${TalkCard} now=${now} partial=${partial} onTurn=${() => {
    // The newest turn is shown, whatever was chosen before.
    if (chosen !== null) go('voice');
    setPartial('');
    turns.reload();
  }} /></div><div class="stack"><${Card} title=${words('now')} aside=${now && html`<${Badge} level=${now.state === 'error' ? 'error' : now.state === 'idle' || now.state === 'muted' ? 'quiet' : 'info'}>${words(`state-${now.state}`)}<//>`}><p class="note" role="status">${now?.reason ?? words(`stateLead-${now?.state ?? 'idle'}`)}</p>${phrases.length > 0 && html`<${Facts} rows=${[[words('calls'), phrases.join(', ')]]} />`}<//><${Ears} audio=${audio} /></div></div><${TurnCard} turn=${shown} turns=${list} compare=${compare} onCompare=${setCompare} /><${Card} title=${words('turns')}><${Answer} of=${turns}>${() => html`<${TurnList} turns=${list} href=${({ turn }: Turn) => link('voice', [], { turn })} />`}<//><//>`;
}
