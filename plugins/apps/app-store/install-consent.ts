/** Consent of an installation: grants that the operator gave along, and questions about the rest. */
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import { answersAbout, denyOptional, type Seeking, seekConsent } from '@device-core/plugin-api/inside/consent';
import type { AppEntry } from './installed.ts';
import type { Admitted, Candidate, InstallRequest } from './outcome.ts';
import type { Parts } from './parts.ts';

export interface UnderWay {
  readonly candidate: Candidate;
  readonly admitted: Admitted;
}

interface Choice extends Pick<InstallRequest, 'grants'> {
  readonly app: string;
  readonly by: string;
  readonly before?: AppEntry;
}

/** The old version runs on meanwhile. */
export async function consentTo(parts: Parts, { candidate, admitted }: UnderWay, data: Choice): Promise<void> {
  const { optional } = parts;
  const { manifest } = candidate;
  const { app, by, grants = [] } = data;
  const seeking = await seekingOf(parts, candidate, admitted, data.before !== undefined);
  if (grants.length > 0) {
    if (!optional.consents)
      throw new CoreError('UNAVAILABLE', {
        what: 'grants',
        reason: 'service consents is missing: enable plugin prompts in the SKU',
      });
    const strange = grants.find((capability) => !manifest.capabilities.some(({ id }) => id === capability));
    if (strange !== undefined)
      throw new CoreError('PARAMS_INVALID', { where: 'grants', reason: `${app} does not ask for ${strange}` });
    await optional.consents.keep(app, answersAbout(manifest, grants, { allowed: true, by, at: Date.now() }));
  }
  // The choice was made before: a person who left out what is optional is not asked about it once more.
  if (data.grants !== undefined && optional.consents) {
    const denied = await denyOptional(seeking, { by, at: Date.now() }, optional);
    if (denied.length > 0) await optional.consents.keep(app, denied);
  }
  await seekConsent(seeking, optional);
}

export async function seekingOf(
  parts: Parts,
  { manifest }: Candidate,
  { outcome }: Admitted,
  isThere: boolean,
): Promise<Seeking> {
  const { device, config, apps, log } = parts;
  const { id, signedBy } = outcome;
  const former = isThere
    ? await apps
        .manifest(id)
        .catch((thrown) => void log.debug({ app: id, reason: reasonOf(thrown) }, 'there is no former manifest'))
    : undefined;
  return {
    app: manifest,
    ...maybe({ former, signer: signedBy }),
    skuGrants: (await device()).grants,
    ms: config.consentMs,
  };
}
