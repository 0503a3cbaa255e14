import { html } from 'htm/preact';

/** A share as a length, beside the number that says it. */
export function Bar({ share }: { share: number }) {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="bar-of" width="100" height="6" /><rect class="bar-is" width=${width} height="6" /></svg>`;
}
