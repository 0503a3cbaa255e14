/** The pages, by section; each is fetched when somebody goes there. */
import type { FunctionComponent } from 'preact';
import type { IconName } from '../parts/icon.ts';
import { words } from '../shell/text.ts';
import type { PageProps } from './route.ts';
import type { Entries } from './search.ts';

export interface PageEntry {
  readonly id: string;
  readonly section: 'device' | 'build' | 'admin';
  readonly icon: IconName;
  readonly title: () => string;
  /** REST path that must be there, or the page is not in the menu: `GET` of it is not asked, the list of operations is. */
  readonly needs?: string;
  /** It is reached by other ways than the menu. */
  readonly hidden?: true;
  /** Search entries of the page: `pages/<id>/entries.ts`, fetched when the search is opened. */
  readonly entries?: () => Promise<{ readonly entries: Entries }>;
  readonly load: () => Promise<{ readonly Page: FunctionComponent<PageProps> }>;
}

export const PAGES: readonly PageEntry[] = [
  {
    ...{ id: 'extra', section: 'device', icon: 'right', title: () => words('extra'), hidden: true },
    entries: () => import('../pages/extra/entries.ts'),
    load: () => import('../pages/extra/page.ts'),
  },
  {
    ...{ id: 'overview', section: 'device', icon: 'overview', title: () => words('overview') },
    load: () => import('../pages/overview/page.ts'),
  },
  {
    ...{ id: 'panel', section: 'device', icon: 'panel', title: () => words('panel'), needs: '/display' },
    entries: () => import('../pages/panel/entries.ts'),
    load: () => import('../pages/panel/page.ts'),
  },
  {
    ...{ id: 'plugins', section: 'device', icon: 'plugins', title: () => words('plugins') },
    entries: () => import('../pages/plugins/entries.ts'),
    load: () => import('../pages/plugins/page.ts'),
  },
  {
    ...{ id: 'apps', section: 'device', icon: 'apps', title: () => words('apps'), needs: '/apps' },
    entries: () => import('../pages/apps/entries.ts'),
    load: () => import('../pages/apps/page.ts'),
  },
  {
    ...{ id: 'voice', section: 'device', icon: 'voice', title: () => words('voice'), needs: '/voice' },
    entries: () => import('../pages/voice/entries.ts'),
    load: () => import('../pages/voice/page.ts'),
  },
  {
    ...{ id: 'events', section: 'build', icon: 'events', title: () => words('events') },
    needs: '/events',
    entries: () => import('../pages/events/entries.ts'),
    load: () => import('../pages/events/page.ts'),
  },
  {
    ...{ id: 'functions', section: 'build', icon: 'functions', title: () => words('functions') },
    entries: () => import('../pages/functions/entries.ts'),
    load: () => import('../pages/functions/page.ts'),
  },
  {
    ...{ id: 'settings', section: 'admin', icon: 'settings', title: () => words('settings') },
    needs: '/config-descriptions',
    entries: () => import('../pages/settings/entries.ts'),
    load: () => import('../pages/settings/page.ts'),
  },
  {
    ...{ id: 'bridge', section: 'device', icon: 'bridge', title: () => words('bridge'), needs: '/bridge' },
    entries: () => import('../pages/bridge/entries.ts'),
    load: () => import('../pages/bridge/page.ts'),
  },
  {
    ...{ id: 'flags', section: 'admin', icon: 'flag', title: () => words('flags'), needs: '/flags' },
    load: () => import('../pages/flags/page.ts'),
  },
  {
    ...{ id: 'secrets', section: 'admin', icon: 'key', title: () => words('secrets'), needs: '/secrets' },
    load: () => import('../pages/secrets/page.ts'),
  },
  {
    ...{ id: 'telemetry', section: 'admin', icon: 'leave', title: () => words('telemetry'), needs: '/telemetry' },
    load: () => import('../pages/telemetry/page.ts'),
  },
  {
    ...{ id: 'traces', section: 'build', icon: 'trace', title: () => words('traces'), needs: '/traces' },
    load: () => import('../pages/traces/page.ts'),
  },
  {
    ...{ id: 'updates', section: 'admin', icon: 'upload', title: () => words('updates'), needs: '/update' },
    load: () => import('../pages/updates/page.ts'),
  },
  {
    ...{ id: 'boot', section: 'admin', icon: 'power', title: () => words('boot'), needs: '/boot' },
    entries: () => import('../pages/boot/entries.ts'),
    load: () => import('../pages/boot/page.ts'),
  },
  {
    ...{ id: 'simulator', section: 'build', icon: 'simulator', title: () => words('simulator'), needs: '/sim' },
    load: () => import('../pages/simulator/page.ts'),
  },
  {
    ...{ id: 'sessions', section: 'admin', icon: 'sessions', title: () => words('sessions') },
    load: () => import('../pages/sessions/page.ts'),
  },
  {
    ...{ id: 'denials', section: 'admin', icon: 'denials', title: () => words('denials'), needs: '/refusals' },
    entries: () => import('../pages/denials/entries.ts'),
    load: () => import('../pages/denials/page.ts'),
  },
  {
    ...{ id: 'logs', section: 'admin', icon: 'logs', title: () => words('logs'), needs: '/logs' },
    load: () => import('../pages/logs/page.ts'),
  },
  {
    ...{ id: 'changes', section: 'admin', icon: 'changes', title: () => words('changes'), needs: '/changes' },
    load: () => import('../pages/changes/page.ts'),
  },
];
