/**
 * Grants of one app: each capability that it asks for, the rule that decided, its uses and their times; to grant and
 * to revoke.
 */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText, datedText, whenText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button, Copy } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Answer, Card, Empty } from '../../parts/frame.ts';
import { RightText } from '../../parts/right.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { common } from '../../parts/text.ts';
import { tell } from '../../parts/toast.ts';
import { Verdict } from './claims.ts';
import type { Ask, Consent, Description, Uses } from './shapes.ts';
import { text } from './text.ts';

export function Grants({ id }: { id: string }) {
  const path = `/apps/${encodeURIComponent(id)}`;
  const described = useAsk<Description>(`${path}/description`);
  const uses = useAsk<Uses>(`${path}/uses`);
  const consents = useAsk<{ readonly consents: readonly Consent[] }>('/consents');
  const [taking, setTaking] = useState<Ask | undefined>(undefined);
  const again = () => {
    described.reload();
    uses.reload();
    consents.reload();
  };
  useEvents(['prompt.state', 'app.state', 'system.refused'], again, 500);
  const change = async (verb: 'grant' | 'revoke', capability: string) => {
    setTaking(undefined);
    await api.post(`${path}/${verb}`, { capability });
    tell(text(verb === 'grant' ? 'granted_' : 'revoked_', { capability }));
    again();
  };
  const kept = (consents.data?.consents ?? []).filter(({ app }) => app === id);
  return html`<${Answer} of=${described}>${({ asks }: Description) =>
    html`<${Card} title=${text('capabilities')}>${
      asks.length === 0
        ? html`<${Empty} icon="lock" title=${text('asksNothing')} />`
        : html`<ul class="apps-grants">${asks.map((ask) => html`<li key=${`${ask.capability} ${String(ask.params?.ports)}`}><${Grant} id=${id} ask=${ask} uses=${uses.data} give=${() => change('grant', ask.capability)} take=${() => setTaking(ask)} /></li>`)}</ul>`
    }<//>`}<//>${taking && html`<${Dialog} title=${text('takeTitle', { capability: taking.capability })} onClose=${() => setTaking(undefined)} actions=${html`<${Button} onClick=${() => setTaking(undefined)}>${common('cancel')}<//><${Button} kind="danger" writes onClick=${() => change('revoke', taking.capability)}>${text('takeBack')}<//>`}><p>${text('takeText')}</p><//>`}<${Refused} id=${id} uses=${uses.data} /><${Answers} kept=${kept} />`;
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

function Answers({ kept }: { kept: readonly Consent[] }) {
  const columns = [
    {
      title: text('capability'),
      cell: ({ capability, params }: Consent) =>
        html`<code>${clean(capability)}${params?.ports && `: ${params.ports.join(', ')}`}</code>`,
    },
    {
      title: text('answer'),
      cell: ({ allowed }: Consent) => html`<${Verdict} of=${allowed ? 'granted' : 'denied'} />`,
    },
    { title: text('by'), cell: ({ by }: Consent) => clean(by) },
    { title: text('when'), cell: ({ at }: Consent) => whenText(at) },
    { title: text('version'), cell: ({ version }: Consent) => clean(version) },
  ];
  if (kept.length === 0) return html`<p class="note">${text('noAnswers')}</p>`;
  return html`<${Card} title=${text('answers')}><p class="note">${text('answersLead')}</p><${Table} label=${text('answers')} columns=${columns} rows=${kept} rowKey=${({ capability, params }: Consent) => `${capability} ${String(params?.ports)}`} /><//>`;
}

const isWithin = (outer: string, one: string): boolean =>
  one === outer || one.startsWith(`${outer}.`) || one.startsWith(`${outer}:`);
