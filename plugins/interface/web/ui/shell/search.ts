/** The way to the search, from anywhere: a button, Ctrl+K, or `/` where nobody types. */
import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import type { FunctionComponent } from 'preact';
import { useEffect } from 'preact/hooks';
import { fetched } from '../core/api.ts';
import { Button, tellError } from '../parts/button.ts';
import { Icon } from '../parts/icon.ts';
import type { PageEntry } from './pages.ts';
import { words } from './text.ts';

type Drawn = FunctionComponent<{ pages: readonly PageEntry[]; onClose: () => void }>;

/** The search while it is open. It is fetched when it is first wanted. */
const shown = signal<{ readonly Palette: Drawn } | undefined>(undefined);

export function openSearch(): void {
  fetched(import('./palette.ts')).then((module) => {
    shown.value = module;
  }, tellError);
}

export function SearchButton() {
  return html`<button type="button" class="seek" aria-keyshortcuts="Control+K /" aria-haspopup="dialog" onClick=${openSearch}><${Icon} name="search" size=${18} /><span>${words('search')}</span><kbd aria-hidden="true">Ctrl K</kbd></button>`;
}

/** The same where there is little room. */
export function SearchIcon() {
  return html`<${Button} kind="quiet" icon="search" label=${words('search')} onClick=${openSearch} />`;
}

export function Search({ pages }: { pages: readonly PageEntry[] }) {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const asked =
        (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !typing(event));
      // Another question may be open over the page; it comes first.
      if (!asked || event.altKey || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      openSearch();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  const close = () => {
    shown.value = undefined;
  };
  return shown.value && html`<${shown.value.Palette} pages=${pages} onClose=${close} />`;
}

function typing({ target, ctrlKey, metaKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey) return true;
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable], canvas') !== null;
}
