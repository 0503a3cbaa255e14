import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../core/api.ts';
import { beginSession, browserName, reason, type Session } from '../core/session.ts';
import { messageOf } from '../parts/ask.ts';
import { Button } from '../parts/button.ts';
import { TextField } from '../parts/field.ts';
import { Icon } from '../parts/icon.ts';
import { words } from './text.ts';

/** Takes the code of the address away before anything is asked: neither history nor a picture of the screen keeps it. */
function codeOfAddress(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}`);
  return code;
}
const brought = codeOfAddress();

export function SignIn() {
  const [code, setCode] = useState(brought ?? '');
  const [error, setError] = useState<string | undefined>(undefined);
  const enter = async (with_: string) => {
    try {
      const body = { code: with_, name: browserName() };
      beginSession(await api.post<{ token: string; session: Session }>('/sessions', body));
    } catch (thrown) {
      setError(messageOf(thrown));
    }
  };
  useEffect(() => {
    if (brought !== undefined) void enter(brought);
  }, []);
  const why = reason.value;
  return html`<main class="sign-in"><form class="card" onSubmit=${(event: Event) => {
    event.preventDefault();
    void enter(code);
  }}><span class="mark"><${Icon} name="key" size=${28} /></span><h1>${words('signIn')}</h1><p class="lead">${why === 'new' ? words('signInLead').replaceAll('`', '') : words(why)}</p><${TextField} label=${words('code')} hint=${words('codeHint')} value=${code} error=${error} placeholder="ABCD-EFGH" onInput=${setCode} /><${Button} kind="main" type="submit" disabled=${code.length < 8}>${words('signIn')}<//></form></main>`;
}
