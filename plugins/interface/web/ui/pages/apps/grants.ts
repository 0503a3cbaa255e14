/**
 * Grants of one app: each capability that it asks for, the rule that decided, its uses and their times; to grant and
 * to revoke.
 */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText, datedText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button, Copy } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Answer, Card, Empty } from '../../parts/frame.ts';
import { RightText } from '../../parts/right.ts';
import { clean } from '../../parts/said.ts';
import { common } from '../../parts/text.ts';
import { tell } from '../../parts/toast.ts';
import { View } from '../../view/view.ts';
import { Verdict } from './claims.ts';
import type { Ask, Description, Uses } from './shapes.ts';
import { text } from './text.ts';

export function Grants({ id }: { id: string }) {
  const path = `/apps/${encodeURIComponent(id)}`;
  const described = useAsk<Description>(`${path}/description`);
  const uses = useAsk<Uses>(`${path}/uses`);
  const [taking, setTaking] = useState<Ask | undefined>(undefined);
  const again = () => {
    described.reload();
    uses.reload();
  };
  useEvents(['prompt.state', 'app.state', 'system.refused'], again, 500);
  const change = async (verb: 'grant' | 'revoke', capability: string) => {
    setTaking(undefined);
    await api.post(`${path}/${verb}`, { capability });
    tell(text(verb === 'grant' ? 'granted_' : 'revoked_', { capability }));
    again();
  };
  return html`<${Answer} of=${described}>${({ asks }: Description) =>
    html`<${Card} title=${text('capabilities')}>${
      asks.length === 0
        ? html`<${Empty} icon="lock" title=${text('asksNothing')} />`
        : html`<ul class="apps-grants">${asks.map((ask) => html`<li key=${`${ask.capability} ${String(ask.params?.ports)}`}><${Grant} id=${id} ask=${ask} uses=${uses.data} give=${() => change('grant', ask.capability)} take=${() => setTaking(ask)} /></li>`)}</ul>`
    }<//>`}<//>${taking && html`<${Dialog} title=${text('takeTitle', { capability: taking.capability })} onClose=${() => setTaking(undefined)} actions=${html`<${Button} onClick=${() => setTaking(undefined)}>${common('cancel')}<//><${Button} kind="danger" writes onClick=${() => change('revoke', taking.capability)}>${text('takeBack')}<//>`}><p>${text('takeText')}</p><//>`}<${Refused} id=${id} uses=${uses.data} /><${View} of="consents.list" base=${['apps']} only=${{ app: [id] }} />`;
}

function Grant({
  id,
  ask,
  uses,
  give,
  take,
}: {
  id: string;
  ask: Ask;
  uses: Uses | undefined;
  give: () => unknown;
  take: () => unknown;
}) {
  const used = (uses?.used ?? []).some((capability) => isWithin(ask.capability, capability));
  const sku = `grants: { ${id}: ["${ask.capability}"] }`;
  const button =
    ask.verdict === 'granted'
      ? html`<${Button} kind="quiet" writes onClick=${take}>${text('takeBack')}<//>`
      : ask.grantable
        ? html`<${Button} writes onClick=${give}>${text('give')}<//>`
        : null;
  return html`<${RightText} right=${ask} aside=${html`<span class="apps-claim-aside"><${Verdict} of=${ask.verdict} />${button}</span>`} /><p class="note">${text('byRule')} <code>${clean(datedText(ask.by.line))}</code></p>${ask.verdict === 'granted' && html`<p class="note">${text(used ? 'used' : 'unused')}</p>`}${ask.verdict !== 'granted' && ask.grantable === false && html`<p class="note apps-line">${text('onlySku')} <code>${sku}</code><${Copy} text=${sku} /></p>`}`;
}

/** Refused capabilities that the manifest does not ask for. */
function Refused({ id, uses }: { id: string; uses: Uses | undefined }) {
  if (uses === undefined || uses.refused.length === 0) return null;
  return html`<${Card} title=${text('refused')} aside=${html`<a href=${link('denials', [], { of: id })}>${text('whyRefused')}</a>`}><ul class="apps-refused">${uses.refused.slice(0, 20).map(({ capability, ts, count }) => html`<li key=${capability}><code>${clean(capability)}</code> <span class="note">${text('times', { n: count })}, ${agoText(ts)}</span></li>`)}</ul><//>`;
}

const isWithin = (outer: string, one: string): boolean =>
  one === outer || one.startsWith(`${outer}.`) || one.startsWith(`${outer}:`);
