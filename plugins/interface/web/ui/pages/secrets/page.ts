/** Secrets: those that are missing, and those that are kept; a vault that is shut says why. */

import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { ApiError } from '../../core/api.ts';
import type { PageProps } from '../../core/route.ts';
import type { Asked } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Badge, Card } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { clean } from '../../parts/said.ts';
import type { Row } from '../../view/cells.ts';
import { View } from '../../view/view.ts';
import { text } from './text.ts';

/** Why no secret can be used, and what to do about it, as the service says it. */
interface Shut {
  readonly state: string;
  readonly reason: string;
}

/** With names, where the vault tells them without its key; else the answer is a refusal, and what was known before counts no more. */
function shutOf({ data, error }: Asked<Row>): Shut | undefined {
  if (error instanceof ApiError && error.code === 'SECRETS_LOCKED')
    return { state: String(error.data.state ?? 'locked'), reason: error.message };
  if (error !== undefined || data?.locked === undefined) return undefined;
  return { state: String(data.state ?? 'locked'), reason: String(data.locked) };
}

export function Page({ title }: PageProps) {
  const around = (kept: Asked<Row>, list: ComponentChildren) => {
    const shut = shutOf(kept);
    if (shut === undefined) return html`<${View} of="secrets.missing" base=${['secrets']} />${list}`;
    return html`<${Closed} ...${shut} again=${() => kept.reload()} />${kept.error === undefined && list}`;
  };
  return html`<${View} of="secrets.list" base=${['secrets']} title=${title} around=${around} />`;
}

function Closed({ state, reason, again }: Shut & { again: () => void }) {
  const word = state === 'failed' ? text('failed') : text('locked');
  return html`<${Card} title=${text('shut')} aside=${html`<${Badge} level="error">${word}<//>`}><div class="problem" role="alert"><${Icon} name="warn" /><div><p>${clean(reason)}</p><${Button} kind="quiet" onClick=${again}>${text('again')}<//></div></div><//>`;
}
