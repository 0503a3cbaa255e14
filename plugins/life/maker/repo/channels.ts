/** Channels: roles that `targets` delegates to, each with a key of its own. */
import { usage } from '@device-core/plugin-api/program';
import type { Edition } from './edition.ts';
import type { Keyring } from './keyring.ts';
import { type Delegation, TOP_ROLES } from './metadata.ts';
import { nounOf } from './packages.ts';

const CHANNEL = /^[a-z][a-z0-9-]{0,31}$/;

/** A channel of images has one more folder than one of packages: SKU, platform, version. */
const pathOf = (channel: string): string => (nounOf(channel) === undefined ? `${channel}/*/*/*/*` : `${channel}/*/*/*`);

/** A path that the channel speaks for, and that nothing lies at. */
export const emptyPathOf = (channel: string): string => pathOf(channel).replaceAll('*', '-');

/** Throws a usage error. */
export function checkChannels(channels: readonly string[]): void {
  for (const channel of channels)
    if (!CHANNEL.test(channel) || TOP_ROLES.some((role) => role === channel))
      throw usage(`"${channel}" is no name of a channel`);
}

/**
 * Each beside those that are there, empty, with the key of its name. Throws a usage error where one is there already,
 * or its key is not.
 */
export function addChannels(edition: Edition, keyring: Keyring, channels: readonly string[]): void {
  for (const channel of channels)
    if (edition.channels.includes(channel)) throw usage(`the repository has a channel ${channel} already`);
  const found = channels.map((channel) => ({ channel, ...keyring.named(channel) }));
  const added = found.map(
    ({ channel, id }): Delegation => ({
      name: channel,
      keyids: [id],
      threshold: 1,
      terminating: true,
      paths: [pathOf(channel)],
    }),
  );
  const keys = Object.fromEntries(found.map(({ id, json }) => [id, json]));
  edition.edit('targets', (targets) => {
    const { keys: known = {}, roles = [] } = targets.delegations ?? {};
    return { ...targets, delegations: { keys: { ...known, ...keys }, roles: [...roles, ...added] } };
  });
  for (const channel of channels) edition.edit(channel);
}
