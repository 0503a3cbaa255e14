/** Services by which the voice hears, speaks and understands: they come and go; and the ear while it listens. */

import { CoreError } from '@device-core/plugin-api';
import type { Audio } from '@device-core/plugin-api/services/audio';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Speech, SpeechGrammar } from '@device-core/plugin-api/services/speech';
import type { Ear } from './ear.ts';

export class Senses {
  present: { readonly audio?: Audio; readonly speech?: Speech; readonly intents?: Intents } = {};
  ear: Ear | undefined;
  /** All that can be said now. */
  grammar: SpeechGrammar | undefined;

  /** Throws SERVICE_MISSING, as the other two. */
  audio(): Audio {
    return this.present.audio ?? missing('audio');
  }

  speech(): Speech {
    return this.present.speech ?? missing('speech');
  }

  intents(): Intents {
    return this.present.intents ?? missing('intents');
  }
}

function missing(service: string): never {
  throw new CoreError('SERVICE_MISSING', { service, range: '^1.0.0', reason: 'its plugin is not running' });
}
