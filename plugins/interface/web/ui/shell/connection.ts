/** Says that the device cannot be reached, and afterwards what may be missing. */
import { html } from 'htm/preact';
import { useEffect } from 'preact/hooks';
import { api } from '../core/api.ts';
import { durationText } from '../core/format.ts';
import { away, liveState, outage } from '../core/live.ts';
import { Button } from '../parts/button.ts';
import { Icon } from '../parts/icon.ts';
import { common } from '../parts/text.ts';
import { words } from './text.ts';

const LOOK_MS = 2_000;

export function Connection() {
  const gone = away.value;
  useEffect(() => {
    if (!gone) return;
    const timer = setInterval(() => void api.get('/version').catch(() => undefined), LOOK_MS);
    return () => clearInterval(timer);
  }, [gone]);
  if (gone) return html`<p class="banner offline" role="alert"><${Icon} name="warn" />${words('offline')}</p>`;
  if (liveState.value === 'full')
    return html`<p class="banner offline" role="alert"><${Icon} name="warn" />${words('full')}</p>`;
  const was = outage.value;
  if (was?.until === undefined) return null;
  return html`<p class="banner" role="status"><${Icon} name="info" />${words('back', { time: durationText(was.until - was.from) })}<${Button} kind="quiet" icon="close" label=${common('close')} onClick=${() => {
    outage.value = undefined;
  }} /></p>`;
}
