/** Scan that takes texts of secrets out of log lines and other output. */
import { CoreError, FOR_USER, type ServesEachUser } from '@device-core/plugin-api';
import type { SecretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import type { SecretTexts } from '../store.ts';
import { TextScan } from './text-scan.ts';

export interface Scanning {
  /** To be told every text that was set, or is about to be revealed. */
  readonly texts: SecretTexts;
  /** Tap of hook `log.line`. */
  readonly line: (line: string) => string;
  /** Service `secret-scan`, for plugins of the Core: a caller with free tries could find a secret by its beginnings. */
  readonly scan: ServesEachUser<SecretScan>;
  readonly size: TextScan['size'];
  /** Names that are never taken out, even when a secret has the same text. */
  setNames(names: Iterable<string>): void;
}

/** A text counts from the call on that tells it: there is nothing to compile, and so no moment in which a new one is not looked for. */
export function startScan(): Scanning {
  const texts = new TextScan();
  return {
    texts: {
      // One that was deleted may still be on its way to a log, as may one that was replaced.
      changed: (key, text) => {
        if (text !== undefined) texts.add(key, text);
      },
      isName: (key, text) => texts.isName(key, text),
    },
    setNames: (names) => texts.setNames(names),
    line: (line) => texts.line(line),
    scan: {
      [FOR_USER]: ({ plugin, outside }) => ({
        hide: async (all) => {
          if (outside === true) {
            const reason = 'it is for plugins of the Core';
            throw new CoreError('SECRET_DENIED', { caller: `plugin.${plugin}`, name: 'secret-scan', reason });
          }
          // Output of apps is a line of JSON as often as not.
          return all.map((one) => (one.startsWith('{') ? texts.lineOfOthers(one) : texts.textOfOthers(one)));
        },
      }),
    },
    get size() {
      return texts.size;
    },
  };
}
