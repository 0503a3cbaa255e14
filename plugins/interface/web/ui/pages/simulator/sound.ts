/** The microphone hears a WAV file; what the speaker played last can be listened to. */

import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { fromBase64, toBase64 } from '../../core/bytes.ts';
import { isOperator } from '../../core/session.ts';
import { Button, tellError } from '../../parts/button.ts';
import { chosenFile } from '../../parts/file.ts';
import { Card } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { offered } from '../../parts/offered.ts';
import { tell } from '../../parts/toast.ts';
import { text } from './text.ts';

const MOST_BYTES = 3 << 20;

export function Sound() {
  const paths = offered.value;
  const picker = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  if (!paths?.has('/audio/inject')) return null;
  const hear = async (file: File | undefined) => {
    if (file === undefined) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    const isWav = String.fromCharCode(...bytes.subarray(0, 4)) === 'RIFF' && bytes.length <= MOST_BYTES;
    if (!isWav) return tell(text('noAudio'), 'error');
    await api.post('/sim/hear', { wav: toBase64(bytes) });
    tell(text('hears', { name: file.name }));
  };
  const listen = async () => {
    const { wav } = await api.get<{ wav: string }>('/audio/heard');
    setUrl(URL.createObjectURL(new Blob([fromBase64(wav)], { type: 'audio/wav' })));
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (isOperator()) void hear(event.dataTransfer?.files[0]).catch(tellError);
  };
  const drag = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return html`<${Card} title=${text('sound')}><div class=${`sim-reader ${over ? 'over' : ''}`} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drop}><${Icon} name="voice" size=${26} /><p>${text('microphone')}</p><p class="note">${text('dropWav')}</p><input ref=${picker} type="file" accept="audio/wav,.wav" hidden aria-label=${text('choose')} onChange=${(event: Event) => void hear(chosenFile(event)).catch(tellError)} /><${Button} icon="upload" writes=${true} onClick=${() => picker.current?.click()}>${text('choose')}<//></div><div class="sim-row"><span>${text('speaker')}</span><${Button} kind="quiet" icon="play" onClick=${listen}>${text('lastSound')}<//></div>${url && html`<audio class="sim-audio" controls autoplay src=${url} aria-label=${text('speaker')}></audio>`}<//>`;
}
