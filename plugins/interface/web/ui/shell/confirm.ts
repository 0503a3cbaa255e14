/** A sensitive act asks again: on the panel of the device, or with a code that only its owner can make. */

import { actIn } from '@device-core/plugin-api/inside/consent-words';
import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, api } from '../core/api.ts';
import { language } from '../core/text.ts';
import { messageOf, sheet, useAsk } from '../parts/ask.ts';
import { Button, Copy } from '../parts/button.ts';
import { Dialog } from '../parts/dialog.ts';
import { TextField } from '../parts/field.ts';
import { Icon } from '../parts/icon.ts';
import { type Claim, type Right, Rights, signedText } from '../parts/right.ts';
import { clean, Said } from '../parts/said.ts';
import { DeviceScreen } from '../parts/screen.ts';
import { words } from './confirm-text.ts';

/** An app or a plugin, with the rights that it gets. */
interface About {
  readonly id: string;
  readonly title?: string;
  readonly version?: string;
  readonly signer?: string | null;
  readonly what?: readonly Right[];
  readonly claims?: readonly Claim[];
}

interface Asked {
  readonly id: string;
  readonly operation: string;
  readonly act: string;
  readonly about?: About;
  readonly names: Readonly<Record<string, string>>;
  readonly ways: readonly string[];
}

interface Question extends Asked {
  readonly answer: (yes: boolean) => void;
}

type State = 'open' | 'confirmed' | 'refused' | 'gone';

const COMMAND = 'devicectl web confirm';
/** One after the other: two dialogs would be one question too many. */
const questions = signal<readonly Question[]>([]);

sheet('shell/confirm.css');

/** Resolves with a header for the second try, or undefined for no. */
export async function ask(error: ApiError): Promise<Readonly<Record<string, string>> | undefined> {
  const { confirmation, what = '', act = what, operation = '', names = {}, about, ways = [] } = error.data;
  if (typeof confirmation !== 'string') return undefined;
  const asked = { id: confirmation, act, operation, names, about, ways } as Asked;
  const yes = await new Promise<boolean>((answer) => {
    questions.value = [...questions.value, { ...asked, answer }];
  });
  return yes ? { 'device-confirmation': confirmation } : undefined;
}

export function Confirmation() {
  const [first] = questions.value;
  return first === undefined ? null : html`<${Ask} key=${first.id} question=${first} />`;
}

function Ask({ question }: { question: Question }) {
  const { id, operation, act, about, names, ways } = question;
  const device = useAsk<{ readonly sku?: { readonly simulated?: boolean } }>('/version');
  const [code, setCode] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);
  const [ended, setEnded] = useState<'refused' | 'gone' | undefined>(undefined);
  const leave = (yes: boolean) => {
    questions.value = questions.value.filter((one) => one !== question);
    question.answer(yes);
  };
  useEffect(() => {
    const over = new AbortController();
    void waitFor(id, over.signal).then((state) => {
      if (over.signal.aborted) return;
      if (state === 'confirmed') leave(true);
      else setEnded(state);
    });
    return () => over.abort();
  }, [id]);
  const send = async () => {
    try {
      await api.post(`/sessions/confirmations/${encodeURIComponent(id)}`, { code });
    } catch (thrown) {
      setError(messageOf(thrown));
    }
  };
  const byPanel = ways.includes('panel');
  // The panel of a simulated device is on a page that the dialog hides.
  const simulated = byPanel && device.data?.sku?.simulated === true;
  const close = () => leave(false);
  if (ended !== undefined)
    return html`<${Dialog} title=${words('title')} onClose=${close} actions=${html`<${Button} kind="main" onClick=${close}>${words('understood')}<//>`}><p role="status">${words(ended)}</p><//>`;
  return html`<${Dialog} title=${words('title')} onClose=${close}><p class="act">${clean(actIn(language.value, { operation, names, act }))}</p>${about && html`<${Subject} about=${about} />`}${byPanel && html`<p class="way" role="status"><${Icon} name="panel" />${words('onPanel')}</p>`}${simulated && html`<div class="confirm-panel"><${DeviceScreen} label=${words('panel')} /></div>`}<form class="confirm-code" onSubmit=${(
    event: Event,
  ) => {
    event.preventDefault();
    void send();
  }}><p class="way"><${Icon} name="key" /><span>${words(byPanel ? 'orCode' : 'byCode')} <code>${COMMAND}</code></span><${Copy} text=${COMMAND} /></p><${TextField} label=${words('code')} value=${code} error=${error} placeholder="ABCD-EFGH" onInput=${setCode} /><div class="actions"><${Button} onClick=${close}>${words('cancel')}<//><${Button} kind="main" type="submit" disabled=${code.trim().length < 8}>${words('confirm')}<//></div></form><//>`;
}

/** The subject of the act: its own words, the signer, and each right that it gets. */
function Subject({ about }: { about: About }) {
  const { id, title, version, signer, what = [], claims = [] } = about;
  return html`<div class="confirm-about"><p>${title !== undefined && html`${words('callsItself')} <${Said} words=${title} />${version === undefined ? '.' : ', '}`}${version !== undefined && `${words('version', { version: clean(version) })}.`}${signer !== undefined && ` ${signedText(signer)}`}</p><code>${clean(id)}</code>${what.length + claims.length > 0 && html`<h3>${words('gives')}</h3><${Rights} what=${what} claims=${claims} />`}</div>`;
}

/** Asks until it is decided; the Core answers when it is, or after a while. */
async function waitFor(id: string, over: AbortSignal): Promise<Exclude<State, 'open'>> {
  for (;;) {
    try {
      const { state } = await api.get<{ state: State }>(`/sessions/confirmations/${encodeURIComponent(id)}`, {}, over);
      if (state !== 'open') return state;
    } catch {
      // Nobody answers, or the session is over: then there is nothing to confirm.
      return 'gone';
    }
  }
}
