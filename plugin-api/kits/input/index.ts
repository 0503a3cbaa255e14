/** For plugins that bring touch and keys: what lies between a device that does not wait and the registry `inputs`. */
export { FEED_LIMITS, InputFeed } from './feed.ts';
