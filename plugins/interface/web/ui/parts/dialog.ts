import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.ts';
import { common } from './text.ts';

/** A question over the page. The browser keeps the focus in it and gives it back; Escape closes it. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  actions?: ComponentChildren;
  wide?: boolean;
  children?: ComponentChildren;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const here = useRef(true);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = box.current;
    dialog?.showModal();
    return () => {
      // Closed before it is taken away, or the focus would be lost with it.
      here.current = false;
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return html`<dialog ref=${box} class=${props.wide ? 'wide' : ''} aria-labelledby=${id} onClose=${() => here.current && props.onClose()}><div class="card-head"><h2 id=${id}>${props.title}</h2><${Button} kind="quiet" icon="close" label=${common('close')} onClick=${props.onClose} /></div><div class="dialog-body">${props.children}</div>${props.actions && html`<div class="actions">${props.actions}</div>`}</dialog>`;
}

/** Views beside each other; each tab is a link, so that it has an address and the keys of the browser. */
export function Tabs(props: {
  label: string;
  tabs: readonly (readonly [href: string, label: string, current: boolean])[];
}) {
  return html`<nav class="tabs" aria-label=${props.label}>${props.tabs.map(([href, label, current]) => html`<a key=${href} href=${href} aria-current=${current ? 'page' : undefined}>${label}</a>`)}</nav>`;
}
