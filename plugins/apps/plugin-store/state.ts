import { type Installed, parseInstalled } from '@device-core/plugin-api/inside/installed';
import type { ListFile, ListKind } from '../shared/package-store/list-file.ts';

export const PLUGIN_LIST: ListKind<Installed> = {
  noun: 'plugin',
  head: '# Written by the Core: plugins that were installed on this device. Change it with devicectl plugin.\n',
  nothing: { plugins: {}, rolledBack: {}, disabled: [] },
  lost: 'nothing that was installed is known any more',
  mostWaiting: 8,
  parse: (text, file) => parseInstalled(text, file).installed,
};

export type InstalledState = ListFile<Installed>;
