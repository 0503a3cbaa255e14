import { html } from 'htm/preact';

/** Outlines on a grid of 24, drawn with one stroke. */
const PATHS = {
  overview: 'M4 13a8 8 0 1 1 16 0M12 13l4-4M6 18h12',
  panel: 'M5 4h14a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zM9 10h.01M15 10h.01M9 14c2 2 4 2 6 0',
  plugins: 'M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3',
  apps: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  events: 'M3 12h4l3-8 4 16 3-8h4',
  functions: 'M14 4c-3 0-3 2-3.5 5L9 17c-.5 2-1.5 3-4 3M7 10h8M15 14l5 6M20 14l-5 6',
  voice: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM5 11a7 7 0 0 0 14 0M12 18v3',
  bridge: 'M8 8h8v8H8zM8 4v4M12 4v4M16 4v4M8 16v4M12 16v4M16 16v4M4 8h4M4 12h4M4 16h4M16 8h4M16 12h4M16 16h4',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 7a2 2 0 1 0 4 0 2 2 0 1 0-4 0M6 17a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  logs: 'M5 5h14M5 10h14M5 15h9M5 20h11',
  denials: 'M12 3l8 3v5c0 5-3.5 8.5-8 10-4.5-1.5-8-5-8-10V6zM9 9l6 6M15 9l-6 6',
  changes: 'M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5',
  sessions: 'M4 5h16v10H4zM9 20h6M12 15v5',
  simulator:
    'M3 9a4 4 0 0 1 4-4h10a4 4 0 0 1 4 4v6a3 3 0 0 1-5.5 1.7L14 14h-4l-1.5 2.7A3 3 0 0 1 3 15zM7 10h3M8.5 8.5v3M15 9h.01M17 11h.01',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l4 4L19 7',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  play: 'M7 5l12 7-12 7z',
  pause: 'M8 5v14M16 5v14',
  stop: 'M6 6h12v12H6z',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  undo: 'M9 7L4 12l5 5M4 12h11a5 5 0 0 1 0 10h-2',
  warn: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5M12 8h.01',
  lock: 'M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3',
  key: 'M12 12a4 4 0 1 0 0 .1zM12 12h9M18 12v4',
  right: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2',
  leave: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  power: 'M12 3v9M7 6a8 8 0 1 0 10 0',
  record: 'M12 6a6 6 0 1 0 0 12 6 6 0 0 0 0-12z',
  trace: 'M4 6h9M8 12h9M13 18h7',
  clock: 'M12 5a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 9v4l3 2M5 3L2 6M19 3l3 3',
  flag: 'M6 21V4h12l-3 4 3 4H6',
  sheet: 'M6 3h9l4 4v14H6zM10 12h5M10 16h5',
  plus: 'M12 5v14M5 12h14',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
} as const;
export type IconName = keyof typeof PATHS;

/** Beside words, so it says nothing to a screen reader; a button of an icon alone has a `label`. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}
