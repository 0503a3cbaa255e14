/** Questions that wait for the person who owns the device, each with its answer. */

import { yesTo } from '@device-core/plugin-api/inside/consent-choice';
import { actIn } from '@device-core/plugin-api/inside/consent-words';
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { whenText } from '../../core/format.ts';
import { language } from '../../core/text.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Card } from '../../parts/frame.ts';
import { signedText } from '../../parts/right.ts';
import { clean, Said } from '../../parts/said.ts';
import { tell } from '../../parts/toast.ts';
import { Claims } from './claims.ts';
import type { Prompt } from './shapes.ts';
import { text } from './text.ts';

/** `of`: of this app alone. Nothing where nobody asks. */
export function Questions({ of, answered }: { of?: string; answered?: () => void }) {
  const { data, reload } = useAsk<{ readonly prompts: readonly Prompt[] }>('/prompts');
  useEvents(['prompt.state'], reload);
  const open = (data?.prompts ?? []).filter(
    ({ kind, subject }) =>
      // Confirmations of acts of pages are answered at the device, never by a page.
      kind !== 'confirm' && (of === undefined || subject === of),
  );
  const done = () => {
    reload();
    answered?.();
  };
  return html`<div role="status" class="stack">${open.map((prompt) => html`<${Question} key=${prompt.id} prompt=${prompt} done=${done} />`)}</div>`;
}

function Question({ prompt, done }: { prompt: Prompt; done: () => void }) {
  const { id, kind, title, subject, version, signer, act, what, until } = prompt;
  const [allowed, setAllowed] = useState<ReadonlySet<string>>(new Set());
  const answer = async (allow: readonly string[]) => {
    await api.post(`/prompts/${encodeURIComponent(id)}`, { allow });
    tell(text('answered'));
    done();
  };
  const yes = yesTo(prompt, allowed);
  return html`<${Card} class="apps-question" title=${text('asks', { app: clean(subject) })}><p>${text('callsItself')} <${Said} words=${title} />${version && `, ${text('version')} ${clean(version)}`}. ${kind === 'consent' && html`${signedText(signer)} `}${text('until', { when: whenText(until) })}</p>${act !== undefined && html`<p><strong>${clean(actIn(language.value, { act }))}</strong></p>`}<${Claims} asks=${what} allowed=${allowed} onChange=${setAllowed} /><div class="actions"><${Button} kind="main" writes disabled=${yes.length === 0} onClick=${() => answer(yes)}>${text(what.length > 1 ? 'allowChosen' : 'allow')}<//><${Button} kind="danger" writes onClick=${() => answer([])}>${text(what.length > 1 ? 'denyAll' : 'deny')}<//></div><//>`;
}
