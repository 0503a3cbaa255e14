import { maybe } from '@device-core/plugin-api';
import type { GuestUses } from '@device-core/plugin-api/inside/services/plugin-manager';
import { isGuest } from '../isolation/border.ts';
import type { PluginEntry } from '../resolved.ts';
import type { UsageBoard } from './usage.ts';

/** Guests among these plugins, with what each used since the Core started. */
export function usesOfGuests(entries: readonly PluginEntry[], usage: UsageBoard): readonly GuestUses[] {
  return entries.filter(isGuest).map(({ id, manifest, isolation, granted }) => {
    const { began, uses } = usage.of(id).uses.told();
    return { plugin: id, isolation, manifest, ...maybe({ granted }), began, uses };
  });
}
