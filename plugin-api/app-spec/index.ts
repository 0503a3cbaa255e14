/** One run of a guest as plain data, and what the system's kernel is told of it. */
export type { AppSpec, GrantedNode, GuestLimits, NamedHost } from './spec.ts';
