/** Consent of the owner to what leaves the device about the device itself. */
import type { ConsentLevel } from '../../contract/consent-level.ts';
import { serviceRef } from '../../contract/service-ref.ts';

export { CONSENT_LEVELS, type ConsentLevel, covers } from '../../contract/consent-level.ts';

export interface ConsentTold {
  readonly level: ConsentLevel;
  /** Milliseconds since the Unix epoch, who, and the text that was shown; absent: nobody was asked yet. */
  readonly at?: number;
  readonly by?: string;
  readonly text?: string;
}

export interface Telemetry {
  consent(): Promise<ConsentTold>;
  /** After each change; one that was withdrawn has emptied the queue already. */
  onChange(listener: (consent: ConsentTold) => void): Promise<Disposable>;
}

export const telemetry = serviceRef<Telemetry>('telemetry', '1.0.0', 'tree');
