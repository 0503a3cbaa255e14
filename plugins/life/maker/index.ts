import { definePlugin } from '@device-core/plugin-api';

/** Nothing runs on a device: the plugin is its programs, which need no Core. */
export const plugin = definePlugin({ setup: () => undefined });
