import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, answering, api, fetched } from '../core/api.ts';
import { beginSession, browserName, reason, type Session, stays } from '../core/session.ts';
import { messageOf } from '../parts/ask.ts';
import { Button } from '../parts/button.ts';
import { TextField, ToggleField } from '../parts/field.ts';
import { Icon } from '../parts/icon.ts';
import { tell } from '../parts/toast.ts';
import { words } from './text.ts';

/** Takes the code of the address away before anything is asked: neither history nor a picture of the screen keeps it. */
function codeOfAddress(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}`);
  return code;
}
const brought = codeOfAddress();
let tried = false;

/** So many sessions this tab begins by itself within a minute: tabs that push each other out must not go on with it. */
const MOST = 3;
const MINUTE_MS = 60_000;
const AGAIN_MS = 2000;
let resumed: readonly number[] = [];

export function SignIn() {
  const [code, setCode] = useState(brought ?? '');
  const [keeps, setKeeps] = useState(false);
  const [error, setError] = useState<string | undefined>(undefined);
  const [coming, setComing] = useState(false);
  const enter = async (with_: string) => {
    setError(undefined);
    try {
      if (!keeps) {
        const body = { code: with_, name: browserName() };
        beginSession(await api.post<{ token: string; session: Session }>('/sessions', body));
        return;
      }
      const { enterAndStay } = await fetched(import('../core/staying.ts'));
      if (!(await enterAndStay(with_))) tell(words('notKept'), 'error');
    } catch (thrown) {
      setError(messageOf(thrown));
    }
  };
  const come = async () => {
    setComing(true);
    try {
      const { resume } = await fetched(import('../core/staying.ts'));
      await resume();
      resumed = [performance.now(), ...resumed].slice(0, MOST);
    } catch (thrown) {
      // Nobody answers: the device may be on its way back.
      if (thrown instanceof ApiError && thrown.code === 'OFFLINE') return true;
      setError(messageOf(thrown));
    }
    setComing(false);
    return false;
  };
  useEffect(() => {
    if (brought !== undefined && !tried) {
      tried = true;
      void enter(brought);
      return;
    }
    const oldest = resumed[MOST - 1];
    if (stays.value === undefined || (oldest !== undefined && performance.now() - oldest < MINUTE_MS)) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;
    const again = async () => {
      if ((await come()) && !over) timer = setTimeout(again, AGAIN_MS);
    };
    void again();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, []);
  if (coming) return html`<${Coming} />`;
  const why = reason.value;
  const box = globalThis.crypto?.subtle !== undefined;
  return html`<main class="sign-in"><form class="card" onSubmit=${(event: Event) => {
    event.preventDefault();
    void enter(code);
  }}><span class="mark"><${Icon} name="key" size=${28} /></span><h1>${words('signIn')}</h1><p class="lead">${why === 'new' ? words('signInLead').replaceAll('`', '') : words(why)}</p><${TextField} label=${words('code')} hint=${words('codeHint')} value=${code} error=${error} placeholder="ABCD-EFGH" onInput=${setCode} />${box && html`<${ToggleField} label=${words('stay')} hint=${words('stayHint')} value=${keeps} onChange=${setKeeps} />`}<${Button} kind="main" type="submit" disabled=${code.length < 8}>${words('signIn')}<//></form></main>`;
}

/** While the key of this browser signs in; where nobody answers, it says so and tries again. */
function Coming() {
  return html`<main class="sign-in"><div class="card"><span class="mark"><${Icon} name="key" size=${28} /></span><h1>${words('signIn')}</h1><p class="lead" role="status">${words(answering.value ? 'coming' : 'offline')}</p></div></main>`;
}
