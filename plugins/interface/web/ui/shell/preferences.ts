import { effect, signal } from '@preact/signals';

export type Colours = 'system' | 'night' | 'day' | 'contrast';
const KEY = 'device.colours';
const kept = localStorage.getItem(KEY);

/** Kept in this browser: it is the reader's, not the device's. */
export const colours = signal<Colours>(kept === 'night' || kept === 'day' || kept === 'contrast' ? kept : 'system');

effect(() => {
  localStorage.setItem(KEY, colours.value);
  if (colours.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = colours.value;
});
