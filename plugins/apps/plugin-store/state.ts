import { type Installed, parseInstalled } from '@device-core/plugin-api/inside/installed';
import type { ListFile, ListKind } from '../shared/package-store/list-file.ts';

export const PLUGIN_LIST: ListKind<Installed> = {
  head: '# Written by the Core: plugins that were installed on this device. Change it with devicectl plugin.\n',
  nothing: { plugins: {}, rolledBack: {}, disabled: [] },
  parse: (text, file) => parseInstalled(text, file).installed,
};

export type InstalledState = ListFile<Installed>;
