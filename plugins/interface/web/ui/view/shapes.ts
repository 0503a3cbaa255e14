/** Pages as data: those of manifests, as `plugins.pages` tells them, and those of operations, as `operations.list` does. */
import type { PluginPage } from '@device-core/plugin-api/contract/plugin-page';

export type {
  PageAction,
  PageButton,
  PageColumn,
  PageField,
  PagePanel,
  PageRule,
  PageSource,
  PageValue,
  PageView,
} from '@device-core/plugin-api/contract/plugin-page';

export interface PageOf extends PluginPage {
  readonly plugin: string;
}
