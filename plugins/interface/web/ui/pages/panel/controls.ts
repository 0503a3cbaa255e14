/** The light of the panel, and the keys of the device. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { percentText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { Button, tellError } from '../../parts/button.ts';
import { SliderField } from '../../parts/field.ts';
import type { DisplayState } from './shapes.ts';
import { text } from './text.ts';

const POWERS = ['on', 'dim', 'off'] as const;
/** A slider that is dragged asks so often at most. */
const SLOW_MS = 250;

export function Light({ state }: { state: DisplayState }) {
  const [level, setLevel] = useState(state.brightness);
  const later = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const wanted = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (wanted.current === undefined) setLevel(state.brightness);
  }, [state.brightness]);
  // A value set just before the page closes is sent, too.
  useEffect(
    () => () => {
      clearTimeout(later.current);
      void send().catch(tellError);
    },
    [],
  );
  const send = async () => {
    later.current = undefined;
    const asked = wanted.current;
    if (asked === undefined) return;
    wanted.current = undefined;
    const kept = await api.put<{ level: number }>('/display/brightness', { level: asked });
    if (wanted.current === undefined) setLevel(kept.level);
  };
  const change = (value: number) => {
    setLevel(value);
    wanted.current = value;
    later.current ??= setTimeout(() => void send().catch(tellError), SLOW_MS);
  };
  return html`<div class="row" role="group" aria-label=${text('power')}>${POWERS.map((power) => html`<${Button} key=${power} writes=${true} pressed=${state.power === power} onClick=${() => api.put('/display/power', { power })}>${text(`power-${power}`)}<//>`)}</div><${SliderField} label=${text('brightness')} value=${level} min=${0} max=${1} step=${0.01} shown=${percentText(level, 0)} disabled=${!isOperator()} onInput=${change} />`;
}

const KNOWN = ['home', 'mute', 'ok', 'back', 'power', 'volume-up', 'volume-down'] as const;
const keyText = (key: string): string => {
  const known = KNOWN.find((one) => one === key);
  return known === undefined ? key : text(`key-${known}`);
};

/** As they are on the device, below the screen. */
export function Keys({ keys }: { keys: readonly string[] }) {
  return html`<div class="panel-keys" role="group" aria-label=${text('keys')}>${keys.map((name) => html`<${Button} key=${name} writes=${true} onClick=${() => api.post('/display/input/key', { name })}>${keyText(name)}<//>`)}</div>`;
}
