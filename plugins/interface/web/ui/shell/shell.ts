import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { useEffect, useMemo } from 'preact/hooks';
import { api, fetched } from '../core/api.ts';
import { away } from '../core/live.ts';
import { link, route } from '../core/route.ts';
import { endSession, session, stays } from '../core/session.ts';
import { chooseLanguage, LANGUAGES, type Language, language } from '../core/text.ts';
import { useAsk } from '../parts/ask.ts';
import { Button } from '../parts/button.ts';
import { SelectField } from '../parts/field.ts';
import { Badge } from '../parts/frame.ts';
import { Icon } from '../parts/icon.ts';
import { offered, useOfferedKept } from '../parts/offered.ts';
import { Toasts } from '../parts/toast.ts';
import { AskAgain } from './ask-again.ts';
import { Connection } from './connection.ts';
import { Extra } from './extra.ts';
import { PAGES, type PageEntry, titleOf } from './pages.ts';
import { Place } from './place.ts';
import { type Colours, colours } from './preferences.ts';
import { Search, SearchButton, SearchIcon } from './search.ts';
import { words } from './text.ts';

const open = signal(false);
const SECTIONS = ['device', 'build', 'admin'] as const;

interface About {
  readonly sku?: { readonly id?: string; readonly title?: string; readonly simulated?: boolean };
}

export function Shell() {
  const { page, rest, query } = route.value;
  const about = useAsk<About>('/version');
  useOfferedKept();
  const paths = offered.value;
  const has = ({ needs }: PageEntry) => needs === undefined || paths === undefined || paths.has(needs);
  const sku = about.data?.sku;
  const pages = useMemo(() => PAGES.filter(has), [paths]);
  useEffect(() => {
    open.value = false;
    const entry = PAGES.find(({ id }) => id === page);
    document.title = `${entry === undefined ? page : titleOf(entry)} · ${sku?.title ?? 'Device Core'}`;
  }, [page, language.value, sku?.title]);
  // The menu is longer than most windows.
  useEffect(() => {
    document.querySelector('nav.side [aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [page, pages]);
  useEffect(() => {
    const leaveMenu = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') open.value = false;
    };
    addEventListener('keydown', leaveMenu);
    return () => removeEventListener('keydown', leaveMenu);
  }, []);
  return html`<a class="skip" href="#main" onClick=${skip}>${words('skip')}</a><div class=${`shell ${open.value ? 'open' : ''}`}><div class="top"><${Button} kind="quiet" icon="menu" label=${words('menu')} expanded=${open.value} onClick=${() => {
    open.value = !open.value;
  }} /><span class="brand">${sku?.title ?? 'Device Core'}</span><${SearchIcon} /></div><nav class="side" aria-label=${words('menu')}><div class="brand"><img src="icon.svg" alt="" width="32" height="32" /><span>${sku?.title ?? 'Device Core'}</span></div><${SearchButton} /><div class="sections">${SECTIONS.map((section) => html`<div key=${section} class="section"><h2>${words(section)}</h2><ul>${pages.filter((one) => one.section === section && !one.hidden).map((one) => html`<li key=${one.id}><a href=${link(one.id)} aria-current=${one.id === page ? 'page' : undefined}><${Icon} name=${one.icon} />${titleOf(one)}</a></li>`)}${section === 'device' && html`<${Extra} />`}</ul></div>`)}</div><${Foot} /></nav><button type="button" class="shade" tabindex="-1" aria-hidden="true" onClick=${() => {
    open.value = false;
  }}></button><main id="main" tabindex="-1" class=${away.value ? 'away' : ''}>${sku?.simulated && html`<p class="banner simulated">${words('simulated')}</p>`}<${Connection} /><${Place} key=${page} page=${page} rest=${rest} query=${query} /></main></div><${Search} pages=${pages} /><${Toasts} /><${AskAgain} />`;
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Foot() {
  const themes = (['system', 'night', 'day', 'contrast'] as const).map((one) => [one, words(one)] as const);
  const languages = Object.entries(LANGUAGES) as [Language, string][];
  const mine = session.value;
  return html`<div class="foot"><${SelectField} label=${words('theme')} value=${colours.value} options=${themes} onChange=${(
    value: Colours,
  ) => {
    colours.value = value;
  }} /><${SelectField} label=${words('language')} value=${language.value} options=${languages} onChange=${chooseLanguage} /><div class="who"><span>${mine?.name} <${Badge}>${words(mine?.role ?? 'viewer')}<//></span><${Button} kind="quiet" icon="leave" label=${words('leave')} onClick=${leave} /></div></div>`;
}

async function leave(): Promise<void> {
  const mine = session.value;
  // The Core may be gone: the token is forgotten here all the same.
  const ids = [stays.value, mine?.id].filter((id) => id !== undefined);
  // Leaving ends a lasting sign-in, too: the key of this browser and the sessions on the device.
  if (stays.value !== undefined) await (await fetched(import('../core/staying.ts'))).forgetBrowser();
  for (const id of ids) await api.delete(`/sessions/${id}`).catch(() => undefined);
  endSession('left');
}
