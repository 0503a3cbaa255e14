/** The mark of a resource on the other side of a border: a scope knows it by the mark, and imports nothing of isolation. */
export const REMOTE = Symbol('remote');

export function isRemote(resource: object): boolean {
  return REMOTE in resource;
}
