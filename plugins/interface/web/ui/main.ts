import './shell/preferences.ts';
import { effect } from '@preact/signals';
import { html } from 'htm/preact';
import { render } from 'preact';
import { token } from './core/session.ts';
import { language } from './core/text.ts';
import { Shell } from './shell/shell.ts';
import { SignIn } from './shell/sign-in.ts';

function Root() {
  return token.value === undefined ? html`<${SignIn} />` : html`<${Shell} />`;
}

effect(() => {
  document.documentElement.lang = language.value;
});
render(html`<${Root} />`, document.getElementById('page')!);
