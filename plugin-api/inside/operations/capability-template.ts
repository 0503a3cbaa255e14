/** Capability that an operation demands: a fixed one, or one whose scope is a param. */
import {
  type Caller,
  type Capabilities,
  type CapabilityId,
  CoreError,
  describeCapability,
  suggestCapability,
} from '../../index.ts';

/** Both throw UNAUTHENTICATED or CAPABILITY_DENIED. */
export interface Authorization {
  /** Checks the caller for the operation as such, before any params. */
  family(caller: Caller): void;
  /** With the params, not yet validated. */
  exact(caller: Caller, params: unknown): void;
}

const TEMPLATE = /^(?<family>[^:{]+)(?<mark>[.:])\{(?<param>\w+)\}$/;
/** Only what can stand in a capability id is looked up as a scope; anything else is for the handler to explain. */
const SCOPE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

const NO_IDENTITY = 'bring a token or call over a socket that tells who you are';

/** Throws CAPABILITY_UNKNOWN. */
export function authorization(
  capability: string | undefined,
  anonymous: boolean,
  capabilities: Capabilities,
): Authorization {
  const identified = (caller: Caller): void => {
    if (caller.kind === 'anonymous' && !anonymous)
      throw new CoreError('UNAUTHENTICATED', { reason: caller.peer?.reason ?? NO_IDENTITY });
  };
  if (capability === undefined) return { family: identified, exact: identified };

  const groups = TEMPLATE.exec(capability)?.groups;
  const family = (groups?.family ?? capability) as CapabilityId;
  if (!describeCapability(family)) {
    const near = suggestCapability(family);
    throw new CoreError('CAPABILITY_UNKNOWN', { capability, suggestion: near ? `; did you mean ${near}?` : '' });
  }
  const param = groups?.param;
  if (param === undefined) {
    const whole = (caller: Caller): void => {
      identified(caller);
      capabilities.require(caller, family);
    };
    return { family: whole, exact: whole };
  }
  if (groups?.mark === '.') return ofMembers(family, param, capabilities, identified);
  const any = (caller: Caller): void => {
    identified(caller);
    // Names the narrowest sufficient grant: one scope does not need the whole family.
    capabilities.requireAny(caller, family, `${family}:<${param}>`);
  };
  /** Scope of the last call: most calls name the same one again and again. */
  let last: { readonly scope: string; readonly capability: CapabilityId } | undefined;
  return {
    family: any,
    exact(caller, params) {
      const scope = (params as Record<string, unknown> | null | undefined)?.[param];
      if (typeof scope !== 'string' || !SCOPE.test(scope)) return any(caller);
      identified(caller);
      if (last?.scope !== scope) last = { scope, capability: `${family}:${scope}` as CapabilityId };
      capabilities.require(caller, last.capability);
    },
  };
}

/** Each member of a family is a separate capability, `sensors.<name>`. Only the params tell the member that the caller must hold. */
function ofMembers(
  family: CapabilityId,
  param: string,
  capabilities: Capabilities,
  identified: (caller: Caller) => void,
): Authorization {
  return {
    family: identified,
    exact(caller, params) {
      const name = (params as Record<string, unknown> | null | undefined)?.[param];
      identified(caller);
      // A name that is no text names no member: the schema refuses it.
      if (typeof name !== 'string') return;
      const member = `${family}.${name}`;
      capabilities.require(caller, (describeCapability(member) ? member : family) as CapabilityId);
    },
  };
}
