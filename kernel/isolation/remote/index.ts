/** Two sides of a border, each of which calls what the other one lets it. */
export * from './peer.ts';
export type { Message, Port, RemoteLimits } from './protocol.ts';
export { RemoteCall } from './remote-call.ts';
