/** The button to talk by, a field to write in, and a file. */

import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { fromBase64 } from '../../core/bytes.ts';
import { isOperator } from '../../core/session.ts';
import { Button } from '../../parts/button.ts';
import { TextField, ToggleField } from '../../parts/field.ts';
import { Badge, Card, Problem } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { common } from '../../parts/text.ts';
import type { Turn, VoiceNow } from './shapes.ts';
import { type Talk, talk } from './talking.ts';
import { words } from './text.ts';

type Phase = 'off' | 'opening' | 'talking' | 'waiting';
const KEY = 'device.voice.here';

export function TalkCard(props: { now: VoiceNow | undefined; partial: string; onTurn: (turn: Turn) => void }) {
  const [phase, setPhase] = useState<Phase>('off');
  const [error, setError] = useState<unknown>(undefined);
  const [lost, setLost] = useState(0);
  const [text, setText] = useState('');
  const [here, setHere] = useState(localStorage.getItem(KEY) === 'yes');
  const meter = useRef<HTMLSpanElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const current = useRef<Talk | undefined>(undefined);
  const heard = useRef(here);
  heard.current = here;
  const left = useRef(false);
  /** The microphone is open, not a file. */
  const [live, setLive] = useState(false);
  // Leaving the page releases the button and cancels the answer.
  useEffect(
    () => () => {
      left.current = true;
      current.current?.cancel();
    },
    [],
  );
  const done = (turn: Turn) => {
    if (left.current) return;
    props.onTurn(turn);
    if (heard.current && turn.said) void sayHere(turn.said).catch(setError);
  };
  const press = (from: Blob | 'microphone') => {
    if (current.current !== undefined || !isOperator()) return;
    setError(undefined);
    setLost(0);
    setLive(from === 'microphone');
    current.current = talk(from, {
      phase: setPhase,
      level: (level) => meter.current?.style.setProperty('--level', level.toFixed(2)),
      lost: (pieces) => setLost((before) => before + pieces),
      over: (turn, thrown) => {
        current.current = undefined;
        if (thrown !== undefined) setError(explained(thrown));
        if (turn !== undefined) done(turn);
      },
    });
  };
  const release = () => current.current?.release();
  useEffect(() => {
    if (!live || phase === 'off' || phase === 'waiting') return;
    const away = () => {
      if (document.hidden) release();
    };
    addEventListener('pointerup', release);
    addEventListener('pointercancel', release);
    addEventListener('blur', release);
    document.addEventListener('visibilitychange', away);
    return () => {
      removeEventListener('pointerup', release);
      removeEventListener('pointercancel', release);
      removeEventListener('blur', release);
      document.removeEventListener('visibilitychange', away);
    };
  }, [phase, live]);
  const held = phase === 'opening' || phase === 'talking';
  const key = (event: KeyboardEvent, then: () => void) => {
    if (event.key !== ' ' && event.key !== 'Enter') return;
    event.preventDefault();
    if (!event.repeat) then();
  };
  const send = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    setError(undefined);
    setPhase('waiting');
    try {
      done(await api.post<Turn>('/voice/ask', { text: text.trim() }));
      setText('');
    } catch (thrown) {
      setError(thrown);
    } finally {
      setPhase('off');
    }
  };
  const muted = props.now?.muted ?? false;
  const status =
    phase === 'off'
      ? words(muted ? 'state-muted' : 'hold')
      : phase === 'waiting'
        ? words(props.now?.state === 'speaking' ? 'state-speaking' : 'state-thinking')
        : words(phase);
  const closed = !isOperator() || muted || phase === 'waiting';
  return html`<${Card} class="talk" title=${words('talk')} aside=${held && live ? html`<${Badge} level="error">${words('micOpen')}<//>` : null}><div class="talk-stage"><button type="button" class="talk-button" aria-pressed=${held} aria-describedby="talk-status" aria-label=${words('talkButton')} disabled=${closed} title=${isOperator() ? undefined : common('viewer')} onPointerDown=${(
    event: PointerEvent,
  ) => {
    if (event.button === 0) press('microphone');
  }} onKeyDown=${(event: KeyboardEvent) => key(event, () => press('microphone'))} onKeyUp=${(event: KeyboardEvent) => key(event, release)} onClick=${(
    event: PointerEvent,
  ) => {
    // Neither a finger nor a key: help for people who cannot hold a button presses it twice.
    if (event.detail !== 0 || event.pointerType !== '') return;
    if (held) release();
    else press('microphone');
  }} onContextMenu=${(event: Event) => event.preventDefault()}><span class="ring" ref=${meter} aria-hidden="true"></span><${Icon} name="voice" size=${44} /></button><p id="talk-status" class="talk-status" role="status">${status}</p><p class="partial" aria-live="polite">${phase === 'off' ? '' : props.partial}</p></div>${lost > 0 && html`<p class="note" role="status">${words('lostSound', { n: lost })}</p>`}${error !== undefined && html`<${Problem} error=${error} />`}<form class="ask" onSubmit=${send}><${TextField} label=${words('write')} value=${text} placeholder=${words('writeExample')} onInput=${setText} /><${Button} writes type="submit" disabled=${text.trim() === '' || phase !== 'off'}>${words('send')}<//></form><div class="row spread"><input ref=${file} type="file" accept="audio/*" hidden aria-label=${words('file')} onChange=${(
    event: Event,
  ) => {
    const input = event.currentTarget as HTMLInputElement;
    const [chosen] = input.files ?? [];
    input.value = '';
    if (chosen) press(chosen);
  }} /><${Button} kind="quiet" writes icon="upload" disabled=${phase !== 'off' || muted} onClick=${() => file.current?.click()}>${words('file')}<//><div class="here"><${ToggleField} label=${words('here')} value=${here} disabled=${!isOperator()} onChange=${(
    value: boolean,
  ) => {
    localStorage.setItem(KEY, value ? 'yes' : 'no');
    setHere(value);
  }} /></div></div><//>`;
}

/** The same words by the same voice; the device has spoken them, too. */
async function sayHere(text: string): Promise<void> {
  const { wav } = await api.post<{ readonly wav: string }>('/speech/synthesize', { text: text.slice(0, 500) });
  const url = URL.createObjectURL(new Blob([fromBase64(wav)], { type: 'audio/wav' }));
  const player = new Audio(url);
  player.onended = () => URL.revokeObjectURL(url);
  await player.play();
}

function explained(error: unknown): unknown {
  if (!(error instanceof DOMException)) return error;
  if (error.name === 'NotAllowedError') return new Error(words('notAllowed'));
  if (error.name === 'NotFoundError') return new Error(words('notFound'));
  if (error.name === 'EncodingError') return new Error(words('noSound'));
  return error;
}
