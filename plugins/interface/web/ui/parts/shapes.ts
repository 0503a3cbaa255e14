/** Answers of the Core about plugins, as far as these pages show it. */
import type { Answers } from '../core/answers.ts';
export type PluginState = Plugin['state'];

export type Plugin = Answers['plugins.list']['plugins'][number];

export type Component = Health['components'][string];

export type Health = Answers['system.health'];

export type Usage = Answers['plugins.usage']['plugins'][number];
