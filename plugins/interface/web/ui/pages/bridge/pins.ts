/** The chip with its lines, and a switch for each output. Levels come by edges; what nobody tells is read when something happens. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, api } from '../../core/api.ts';
import { numberText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { ToggleField } from '../../parts/field.ts';
import { Answer, Card, Empty, Problem } from '../../parts/frame.ts';
import type { Envelope, Level, Pin } from './shapes.ts';
import { words } from './text.ts';

type Levels = Readonly<Record<string, Level | undefined>>;
const LINES = 32;

export const levelWord = (level: Level | undefined): string =>
  words(level === undefined ? 'unknown' : level === 1 ? 'high' : 'low');

export function Lamp({ level }: { level: Level | undefined }) {
  return html`<span class=${`lamp ${level === 1 ? 'on' : level === 0 ? 'dark' : 'unknown'}`} aria-hidden="true"></span>`;
}

export function Pins() {
  const pins = useAsk<{ handles: readonly Pin[] }>('/gpio/handles');
  const [levels, setLevels] = useState<Levels>({});
  const [problems, setProblems] = useState<Readonly<Record<string, unknown>>>({});
  const list = pins.data?.handles ?? [];
  const read = async () => {
    // Reading is a request of the bridge: a viewer sees what edges tell.
    if (!isOperator()) return;
    for (const { name } of list) {
      try {
        const { value } = await api.post<{ value: Level }>('/GPIO_read', { handle: name });
        setLevels((now) => ({ ...now, [name]: value }));
        setProblems((now) => ({ ...now, [name]: undefined }));
      } catch (error) {
        // Without a link no pin can be read, and the link says so by itself.
        if (error instanceof ApiError && error.code === 'NOT_INITIALIZED') return setLevels({});
        setProblems((now) => ({ ...now, [name]: error }));
      }
    }
  };
  const names = list.map(({ name }) => name).join(' ');
  useEffect(() => void read(), [names]);
  useEvents(['gpio.edge', 'bridge.link'], (items) => {
    const events = items.map(({ data }) => data as Envelope);
    const edges = events.filter(({ topic }) => topic === 'gpio.edge').map(({ payload }) => payload);
    if (edges.length > 0)
      setLevels((now) => ({
        ...now,
        ...Object.fromEntries(edges.map(({ handle, level }) => [String(handle), level === 1 ? 1 : 0] as const)),
      }));
    pins.reload();
    // After a gap, and when the link is back, nobody knows what was missed.
    if (edges.length < events.length || events.length === 0) void read();
  });
  const write = async ({ name }: Pin, level: Level) => {
    try {
      await api.post('/GPIO_write', { handle: name, value: level });
      // The bridge has said that it is so; an open drain may be held down by somebody else.
      setLevels((now) => ({ ...now, [name]: level }));
      setProblems((now) => ({ ...now, [name]: undefined }));
      await read();
    } catch (error) {
      setProblems((now) => ({ ...now, [name]: error }));
    }
  };
  const chips = [...new Set(list.map(({ endpoint }) => endpoint))];
  return html`<${Answer} of=${pins}>${() => (list.length === 0 ? html`<${Card}><${Empty} icon="bridge" title=${words('noPins')} /><//>` : html`<div class="columns pins"><${Card} title=${words('pins')} aside=${html`<${Button} kind="quiet" writes onClick=${read}>${words('readAgain')}<//>`}><ul class="pin-list">${list.map((pin) => html`<${PinRow} key=${pin.name} pin=${pin} level=${levels[pin.name]} problem=${problems[pin.name]} onWrite=${(level: Level) => write(pin, level)} />`)}</ul><//><div class="stack">${chips.map((chip) => html`<${Chip} key=${chip} name=${chip} pins=${list.filter(({ endpoint }) => endpoint === chip)} levels=${levels} />`)}</div></div>`)}<//>`;
}

function PinRow(props: {
  pin: Pin;
  level: Level | undefined;
  problem: unknown;
  onWrite: (level: Level) => Promise<void>;
}) {
  const { pin, level, problem } = props;
  const { name, description, direction, line, endpoint, owner, pull, edges, errors = 0 } = pin;
  const facts = [
    `${endpoint}, ${words('line', { line })}`,
    words(`dir-${direction}`),
    pull !== 'none' && words(pull === 'up' ? 'pullUp' : 'pullDown'),
    words('heldBy', { owner }),
    edges > 0 && words('edges', { n: edges }),
    errors > 0 && words('errors', { n: errors }),
  ].filter(Boolean);
  return html`<li class="pin"><${Lamp} level=${level} /><div class="pin-text"><strong>${name}</strong> <span class="pin-level" role="status">${levelWord(level)}</span>${description && html`<p class="note">${description}</p>`}<p class="note">${facts.join(' · ')}</p>${problem !== undefined && html`<${Problem} error=${problem} />`}</div>${direction !== 'in' && html`<${ToggleField} quiet label=${words('switch', { name })} value=${level === 1} disabled=${!isOperator()} onChange=${(on: boolean) => void props.onWrite(on ? 1 : 0)} />`}</li>`;
}

/** For the eye: the list beside it says the same in words. */
function Chip({ name, pins, levels }: { name: string; pins: readonly Pin[]; levels: Levels }) {
  const pin = (line: number) => {
    const used = pins.find((one) => one.line === line);
    const level = used && levels[used.name];
    return html`<li key=${line} class=${used ? 'used' : ''}><span class="pin-name">${used?.name ?? ''}</span>${used ? html`<${Lamp} level=${level} />` : html`<span class="leg"></span>`}<span class="pin-number">${numberText(line, 0)}</span></li>`;
  };
  const side = (from: number) => Array.from({ length: LINES / 2 }, (_, index) => pin(from + index));
  return html`<${Card} title=${name} class="chip-card"><div class="chip" aria-hidden="true"><ul class="left">${side(0)}</ul><div class="body"><span>${name}</span></div><ul class="right">${side(LINES / 2)}</ul></div><//>`;
}
