/** The file descriptor of a socket, by which `Identity.peerOf` knows who is on its other side. */

/**
 * Undefined where it is closed, and in a Node that hides it. Node has no public way to it: this is the one place that
 * reads its private field. Takes a socket of node:net.
 */
export function descriptorOf(socket: object): number | undefined {
  const fd = (socket as { readonly _handle?: { readonly fd?: unknown } | null })._handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
