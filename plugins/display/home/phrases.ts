/** Spoken ways to each screen and each app. */

import type { Scope } from '@device-core/plugin-api';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Opened } from './facts.ts';
import type { ScreenName } from './screens/index.ts';
import { LANGUAGES, type Strings } from './strings/index.ts';

const OWNER = 'plugin.home';

export interface Says {
  readonly show: (screen: ScreenName) => Promise<void>;
  readonly open: (app: string) => Promise<void>;
}

type Shown = Exclude<keyof Strings['said'], 'open'>;

function titleOf(screen: Shown, strings: Strings): string {
  return strings[screen].title;
}

export function addPhrases(intents: Intents, scope: Scope, says: Says): void {
  for (const [language, strings] of Object.entries(LANGUAGES))
    for (const [name, sentences] of Object.entries(strings.said)) {
      if (name === 'open') continue;
      const screen = name as Shown;
      const title = titleOf(screen, strings);
      scope.use(
        `phrase ${screen} ${language}`,
        intents.add(
          { id: `home.${screen}.${language}`, title, language, sentences },
          async () => {
            await says.show(screen);
            return { say: title };
          },
          OWNER,
        ),
      );
    }
}

/**
 * A title as it is said, letters of every script with their marks, digits and apostrophes within words; empty where
 * nothing of it can be said.
 */
const spoken = (title: string): string =>
  title
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\u2018\u2019\u02bc`]/g, "'")
    .replaceAll(/[^\p{L}\p{M}\p{N}']+/gu, ' ')
    .replaceAll(/'(?!\p{L})|(?<![\p{L}\p{M}])'/gu, ' ')
    .trim();

/** Equal for titles that sound alike: `USB3` and `usb 3`. */
const sound = (said: string): string => said.replaceAll(/[ ']/g, '');

/** Adds the sentences that open these apps; disposing the answer removes them. */
export async function addApps(intents: Intents, apps: readonly Opened[], says: Says): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  const values = apps.map(({ id, title }) => ({ in: spoken(title), out: id })).filter((value) => value.in !== '');
  // Apps with the same name are left out: neither can be meant.
  const unique = values.filter((value) => values.filter((one) => sound(one.in) === sound(value.in)).length === 1);
  if (unique.length === 0) return stack;
  for (const [language, strings] of Object.entries(LANGUAGES)) {
    stack.use(
      intents.add(
        {
          id: `home.open.${language}`,
          title: strings.apps.title,
          language,
          sentences: strings.said.open,
          slots: { app: { kind: 'list', values: unique } },
        },
        async ({ slots }) => {
          const id = String(slots.app);
          await says.open(id);
          return { say: apps.find((app) => app.id === id)?.title ?? '' };
        },
        OWNER,
      ),
    );
  }
  return stack;
}
