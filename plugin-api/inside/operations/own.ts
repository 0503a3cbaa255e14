/**
 * Limits of an author from outside: own names, no callers without identity and no confirmation in the Core's words
 * without a claim, and an end.
 */
import { type Caller, type Capabilities, type CapabilityId, CoreError, type ServiceUser } from '../../index.ts';
import type { Operation, StreamEndpoint } from '../../services/operations.ts';
import { NEVER } from '../contracts/index.ts';
import { foreignName } from '../own-names.ts';
import type { Refusal } from '../services/grants.ts';
import { checkOperation, checkSize, checkStream } from './form.ts';
import type { Table } from './table.ts';

/** Operations and streams of one plugin from outside. */
const MOST = 256;

export interface Judge {
  readonly table: Table;
  readonly capabilities: Capabilities;
  /** Called at each refusal of a name. */
  readonly refused?: Refused | undefined;
}

/** Hears of each refusal; of one that the capability checker does not know, also caller and name. */
export type Refused = (caller?: Caller, refusal?: Pick<Refusal, 'capability' | 'hint' | 'class'>) => void;

/** Signs of a foreign name that a refusal shows. */
const SHOWN = 80;

/** Throws OPERATION_CONFLICT (form, size, name), CAPABILITY_DENIED. */
export function checkOwnOperation(given: Operation<never, unknown>, user: ServiceUser | undefined, judge: Judge): void {
  if (!user?.outside) return;
  checkOperation(given, user);
  checkCommon(given, user, judge);
  if (given.anonymous) claim('operations.anonymous', user, judge);
  if (given.sensitive) claim('operations.sensitive', user, judge);
}

/** Throws OPERATION_CONFLICT (form, size, name). */
export function checkOwnStream(given: StreamEndpoint<never>, user: ServiceUser | undefined, judge: Judge): void {
  if (!user?.outside) return;
  checkStream(given, user);
  checkCommon(given, user, judge);
}

function checkCommon(
  given: Operation<never, unknown> | StreamEndpoint<never>,
  user: ServiceUser,
  { table, refused }: Judge,
): void {
  checkSize(given, user);
  const { name } = given;
  const rows = [...table.list(), ...table.streams()].filter(({ plugin }) => plugin === user.plugin).length;
  if (rows >= MOST)
    throw new CoreError('OPERATION_CONFLICT', { name, what: `plugin ${user.plugin} has ${MOST} of them already` });
  const what = user.installed ? foreignName(user.plugin, given) : undefined;
  if (what === undefined) return;
  const { plugin: id } = user;
  const capability = `operation.${name.slice(0, SHOWN)}`;
  refused?.({ kind: 'plugin', id }, { capability, hint: `${NEVER.hint}: ${what}`, class: 'oem' });
  throw new CoreError('OPERATION_CONFLICT', { name, what });
}

/** A plugin of the SKU is composed by the OEM, who answers for it: only an installed one needs the line in its manifest. */
function claim(capability: CapabilityId, user: ServiceUser, { capabilities }: Judge): void {
  if (user.installed) capabilities.require({ kind: 'plugin', id: user.plugin }, capability);
}
