/**
 * Metadata of a repository as TUF 1.0 has it, in the form of its JSON. Signing and the canonical form are those of
 * @tufjs/models, which devices check with.
 */
import { createHash, type KeyObject } from 'node:crypto';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import type { Signer } from '../keys/signer.ts';

const models = packageLater<typeof import('@tufjs/models')>('@tufjs/models', import.meta.url);

export const TOP_ROLES = ['root', 'targets', 'snapshot', 'timestamp'] as const;
export type TopRole = (typeof TOP_ROLES)[number];

export interface TufKey {
  readonly keytype: 'ed25519';
  readonly scheme: 'ed25519';
  /** 32 bytes, hex. */
  readonly keyval: { readonly public: string };
}

export interface RoleKeys {
  readonly keyids: readonly string[];
  readonly threshold: number;
}

interface Common {
  readonly spec_version: string;
  readonly version: number;
  /** `2027-01-01T00:00:00Z` */
  readonly expires: string;
}

export interface RootSigned extends Common {
  readonly _type: 'root';
  readonly consistent_snapshot: true;
  readonly keys: Readonly<Record<string, TufKey>>;
  readonly roles: Readonly<Record<TopRole, RoleKeys>>;
}

export interface TargetEntry {
  readonly length: number;
  readonly hashes: { readonly sha256: string };
  readonly custom?: Readonly<Record<string, unknown>>;
}

export interface Delegation extends RoleKeys {
  readonly name: string;
  readonly terminating: boolean;
  readonly paths: readonly string[];
}

export interface TargetsSigned extends Common {
  readonly _type: 'targets';
  readonly targets: Readonly<Record<string, TargetEntry>>;
  readonly delegations?: { readonly keys: Readonly<Record<string, TufKey>>; readonly roles: readonly Delegation[] };
}

export interface MetaEntry {
  readonly version: number;
  readonly length: number;
  readonly hashes: { readonly sha256: string };
}

export interface SnapshotSigned extends Common {
  readonly _type: 'snapshot';
  readonly meta: Readonly<Record<string, MetaEntry>>;
}

export interface TimestampSigned extends Common {
  readonly _type: 'timestamp';
  readonly meta: { readonly 'snapshot.json': MetaEntry };
}

export type AnySigned = RootSigned | TargetsSigned | SnapshotSigned | TimestampSigned;

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export function tufKey(key: KeyObject): { readonly id: string; readonly json: TufKey } {
  const hex = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
  // The canonical form: members in their order, without spaces.
  const id = sha256(Buffer.from(`{"keytype":"ed25519","keyval":{"public":"${hex}"},"scheme":"ed25519"}`));
  return { id, json: { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: hex } } };
}

export const SPEC_VERSION = '1.0.31';

export const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** The file of a role. */
export function signed(value: AnySigned, signers: readonly (Signer & { readonly id: string })[]): Buffer {
  const { Metadata, Signature } = models();
  type Json = Parameters<typeof Metadata.fromJSON>[1];
  const kind = value._type as Parameters<typeof Metadata.fromJSON>[0];
  // Overloads by kind: they differ in what comes out, and what is called here is common to all.
  const metadata = Metadata.fromJSON(kind as never, { signed: value, signatures: [] } as unknown as Json);
  for (const signer of signers)
    metadata.sign((data) => new Signature({ keyID: signer.id, sig: signer.sign(data).toString('hex') }));
  return Buffer.from(`${JSON.stringify(metadata.toJSON())}\n`);
}

/** Throws for what is no metadata of that kind. */
export function parseSigned<T extends AnySigned>(kind: T['_type'], bytes: Uint8Array): T {
  const value = Object(JSON.parse(Buffer.from(bytes).toString('utf8'))).signed as T;
  if (value?._type !== kind) throw new Error(`this is no metadata of ${kind}`);
  return value;
}

export const metaEntry = (version: number, bytes: Uint8Array): MetaEntry => ({
  version,
  length: bytes.length,
  hashes: { sha256: sha256(bytes) },
});
