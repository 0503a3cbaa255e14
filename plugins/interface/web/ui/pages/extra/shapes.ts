/** Pages of plugins, as `plugins.pages` tells them. */
import type { PluginPage } from '@device-core/plugin-api/contract/plugin-page';

export type { PageButton, PagePanel, PageSource, PageValue } from '@device-core/plugin-api/contract/plugin-page';

export interface PageOf extends PluginPage {
  readonly plugin: string;
}
