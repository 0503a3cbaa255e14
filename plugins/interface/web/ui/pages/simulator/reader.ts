/** Tags, and the reader to put them on: by the mouse, by the finger, by a key. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { isOperator } from '../../core/session.ts';
import { Button, tellError } from '../../parts/button.ts';
import { TextField } from '../../parts/field.ts';
import { Card } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import type { Bridge } from './shapes.ts';
import { text } from './text.ts';

interface Tag {
  readonly uid: string;
  readonly name: string;
  readonly records: { readonly text?: string; readonly uri?: string };
}

const KIND = 'application/x-device-tag';

export function Reader({ bridge }: { bridge: Bridge | undefined }) {
  const [own, setOwn] = useState('');
  const [over, setOver] = useState(false);
  const chip = bridge?.endpoints.flatMap(({ chips = [] }) => chips).find(({ kind }) => kind === 'pn532');
  if (chip === undefined) return null;
  const tags: readonly Tag[] = [
    { uid: '04a1b2c3d4e5f6', name: text('tagHello'), records: { text: text('tagHello') } },
    { uid: '04112233445566', name: text('tagLink'), records: { uri: 'https://example.com/' } },
    { uid: '04778899aabbcc', name: text('tagEmpty'), records: {} },
    ...(own === '' ? [] : [{ uid: '04ddeeff001122', name: own, records: { text: own } }]),
  ];
  const there = (chip.senses?.tag as { readonly uid: string } | null | undefined) ?? undefined;
  const lying = there && (tags.find(({ uid }) => uid === there.uid)?.name ?? there.uid);
  const put = ({ uid, records }: Tag) => api.post('/sim/tag', { uid, ...records });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const tag = tags.find(({ uid }) => uid === event.dataTransfer?.getData(KIND));
    if (tag && isOperator()) void put(tag).catch(tellError);
  };
  const drag = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const one = (tag: Tag) =>
    html`<li key=${tag.uid} draggable=${isOperator()} onDragStart=${(event: DragEvent) => event.dataTransfer?.setData(KIND, tag.uid)}><${Button} writes=${true} pressed=${there?.uid === tag.uid} label=${text('put', { name: tag.name })} onClick=${() => put(tag)}><span class="sim-tag-name">${tag.name}</span><//></li>`;
  return html`<${Card} title=${text('reader')}><div class=${`sim-reader ${over ? 'over' : ''} ${lying ? 'full' : ''}`} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drop}><${Icon} name="sessions" size=${26} /><p role="status">${lying ? text('onReader', { name: lying }) : text('nothingOn')}</p>${lying ? html`<${Button} kind="quiet" writes=${true} onClick=${() => api.post('/sim/untag')}>${text('takeAway')}<//>` : html`<p class="note">${text('readerHint')}</p>`}</div><ul class="sim-tags" aria-label=${text('tags')}>${tags.map(one)}</ul><${TextField} label=${text('tagOwn')} value=${own} onInput=${(value: string) => setOwn(value.slice(0, 100))} /><//>`;
}
